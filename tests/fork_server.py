"""Run programs in forks of a process that has imported the site: importing it anew takes seconds of CPU time.

`python -m tests.fork_server MODULES` sets Django up, imports the modules and takes requests from the socket that is its
standard input, until it is closed: a message with the program, its arguments, its environment and a flag for a
controlling terminal; and the files for input, output, errors and the answer. The answer is the process id, and, after
the end, the exit code. Without modules it imports packages only, so that a program may have any settings; more than
half of the time goes there.

With a listening socket it does so in a fork for each process that connects there, until its standard input is closed.
"""

from __future__ import annotations

import fcntl
import json
import os
import runpy
import select
import signal
import socket
import sys
import termios
import warnings
from importlib import import_module
from typing import Literal, TextIO

import django

from adk_site.garbage_collection import exclude_permanent_objects
from tests.forked_program import LISTENER
from tests.network import NAMESPACE, enter_namespace

MAX_REQUEST_BYTES = 1_000_000
PACKAGES = (
    "channels.layers",
    "cryptography.fernet",
    "django.contrib.admin",
    "django.core.handlers.asgi",
    "django.core.management",
    "google.protobuf",
    "httpx2",
    "jinja2",
    "kombu",
    "markdown_it",
    "mcp.server.mcpserver",
    "psycopg_pool",
    "redis.asyncio",
    "rich.console",
    "runtime.agents",
    "runtime.evaluation",
    "runtime.models",
    "runtime.plugins",
    "runtime.runners",
    "runtime.tools",
    "runtime.workflow",
    "uvicorn",
    "websockets",
    "yaml",
)
"""What the site and the MCP server of tests import that reads neither settings nor, as Celery, the environment."""


def connection_in_fork(listener: socket.socket, owner: socket.socket) -> socket.socket:
    """Fork for each connection, until the owner closes its socket; return the connection in the fork."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while owner not in select.select([listener, owner], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return connection
        connection.close()
    sys.exit()


def serve(requests: socket.socket) -> None:
    """Fork for each request. A fork waits for the program, which is a fork of it, so that this process need not."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, files, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
        if not message:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            *standard, answer = files
            pid = os.fork()
            if pid == 0:
                os.close(answer)
                return _run(standard, **json.loads(message))
            _wait(pid, standard, answer)
        for file in files:
            os.close(file)


def _wait(pid: int, standard: list[int], answer: int) -> None:
    for file in standard:
        os.close(file)
    os.write(answer, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.write(answer, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(standard: list[int], arguments: list[str], environment: dict[str, str], terminal: bool) -> None:
    """Become the program: the name of a module, as after `python -m`, and its arguments."""
    os.setsid()
    if NAMESPACE in environment:
        enter_namespace(environment[NAMESPACE])
    for number, file in enumerate(standard):
        os.dup2(file, number)
        os.close(file)
    if terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # The streams of this process remember whether its files could be sought in.
    sys.stdin, sys.stdout, sys.stderr = (_reopened(stream) for stream in (sys.stdin, sys.stdout, sys.stderr))
    os.environ.clear()
    os.environ.update(environment)
    if environment.get("PYTHONWARNINGS") == "ignore":  # read by Python only when it starts
        warnings.simplefilter("ignore")
    sys.argv = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


def _reopened(stream: TextIO) -> TextIO:
    mode: Literal["r", "w"] = "r" if stream is sys.stdin else "w"
    return open(
        stream.fileno(),
        mode,
        buffering=1 if stream is sys.stderr or os.isatty(stream.fileno()) else -1,
        encoding=stream.encoding,
        errors=stream.errors,
        closefd=False,
    )


if __name__ == "__main__":
    modules = sys.argv[1:]
    if modules:
        django.setup()
    for module in modules or PACKAGES:
        import_module(module)
    exclude_permanent_objects()
    standard_input = socket.socket(fileno=sys.stdin.fileno())
    if LISTENER in os.environ:
        serve(connection_in_fork(socket.socket(fileno=int(os.environ[LISTENER])), standard_input))
    else:
        serve(standard_input)

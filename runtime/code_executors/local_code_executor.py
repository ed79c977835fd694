"""Run a model's code in a Python process on this machine."""

import abc
import asyncio
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from runtime.code_executors.base_code_executor import BaseCodeExecutor, in_code_thread
from runtime.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from runtime.context import InvocationContext

MAX_OUTPUT_CHARACTERS = 50_000
LOOK_SECONDS = 0.05
"""Seconds between two looks at the number of threads."""


class ChildPython:
    """Run a piece of code in a new process, in a directory that is deleted afterwards.

    Args:
        timeout: seconds after which the process is killed; None is no limit.
        max_threads: number of threads above which the process is killed, on Linux; None is no limit.
        max_output: characters after which standard output and error are each cut.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        timeout: float | None,
        max_threads: int | None = None,
        max_output: int = MAX_OUTPUT_CHARACTERS,
    ) -> None:
        self._arguments = [sys.executable, *arguments]
        self._environment = environment
        self._timeout = timeout
        self._max_threads = max_threads
        self._max_output = max_output
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_killed = False

    def run(self, given: CodeExecutionInput) -> CodeExecutionResult:
        """Run the code to its end, or to the timeout, and return its output."""
        with (
            tempfile.TemporaryDirectory(prefix="adk-code-", ignore_cleanup_errors=True) as directory,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            for file in given.input_files:
                # The last component only: a file name must not lead out of the directory.
                Path(directory, Path(file.name).name).write_bytes(file.as_bytes())
            process = self._start(directory, out, err)
            try:
                problem = self._wait(process, given.code.encode("utf-8", "replace"))
            # Also after a normal end: processes started by the code may still run.
            finally:
                self.kill()
                process.wait()
                with self._lock:
                    # Under the lock: after `wait`, another process may get this number, and `kill` would end that
                    # process.
                    self._process = None
            output = _read_output(out, self._max_output)
            return _result(output, _read_output(err, self._max_output), process.returncode, problem)

    def kill(self) -> None:
        """End the process and all processes that it started; may be called from any thread."""
        with self._lock:
            self._is_killed = True
            if self._process is not None:
                _kill_group(self._process.pid)

    def _wait(self, process: subprocess.Popen[bytes], code: bytes) -> str | None:
        """Give the code to the process, and wait for its end. Return a sentence if the process exceeds a limit."""
        deadline = math.inf if self._timeout is None else time.monotonic() + self._timeout
        # The code comes over standard input and the output goes to files: no command line or pipe limits their size.
        rest: bytes | None = code
        while True:
            try:
                process.communicate(rest, max(0, min(LOOK_SECONDS, deadline - time.monotonic())))
                return None
            except subprocess.TimeoutExpired:
                rest = None
            if time.monotonic() >= deadline:
                return f"Code execution timed out after {self._timeout:g} s."
            # The kernel's limit (RLIMIT_NPROC) counts all processes of the user, and does not hold for root.
            if self._max_threads is not None and _count_threads(process.pid) > self._max_threads:
                return f"Code execution started more than {self._max_threads} threads."

    def _start(self, directory: str, out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
        # Under the lock: a `kill` during the start would find no process, and the code would run to its end.
        with self._lock:
            self._process = subprocess.Popen(  # noqa: S603  # the program is this Python
                self._arguments,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                cwd=directory,
                env={**self._environment, "HOME": directory, "TMPDIR": directory},
                # The new session is a process group, so `kill` reaches the processes that the code starts.
                start_new_session=True,
            )
            if self._is_killed:
                _kill_group(self._process.pid)
            return self._process


def _count_threads(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:  # the process has ended, or the system has no /proc
        return 0


def _kill_group(leader: int) -> None:
    # Both errors mean that nothing is left: macOS does not permit to kill a group of zombies.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _result(stdout: str, stderr: str, status: int, problem: str | None) -> CodeExecutionResult:
    if problem:
        stderr = f"{stderr}\n{problem}" if stderr else problem
    elif status == 0:
        stderr = ""  # Warnings are no failure, and a text in `stderr` means one.
    elif not stderr:
        stderr = f"Code execution exited with status {status}."
    return CodeExecutionResult(stdout=stdout, stderr=stderr, exit_code=status)


def _read_output(file: IO[bytes], max_characters: int) -> str:
    file.seek(0)
    # A character has up to four bytes in UTF-8; one byte more shows that the output was cut.
    text = file.read(4 * max_characters + 1).decode("utf-8", "replace")
    if len(text) <= max_characters:
        return text
    return f"{text[:max_characters]}\n… (cut after {max_characters} characters)"


class LocalCodeExecutor(BaseCodeExecutor):
    """Run each block in a new process. Cancelling the invocation ends the process."""

    @abc.abstractmethod
    def new_process(self) -> ChildPython:
        """Return a process that has not started."""

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        return self.new_process().run(code_execution_input)

    async def execute_code_async(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        process = self.new_process()
        try:
            return await in_code_thread(process.run, code_execution_input)
        # Cancelling the future does not stop its thread, which would wait for the code.
        except asyncio.CancelledError:
            process.kill()
            raise

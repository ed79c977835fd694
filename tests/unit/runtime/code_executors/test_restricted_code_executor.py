"""Contract T12: code in a restricted process gets little, and no more time, memory or output than allowed."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from runtime.code_executors import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
    RestrictedCodeExecutor,
    UnsafeLocalCodeExecutor,
    confinement,
)
from runtime.code_executors.confinement import ProcessLimits
from runtime.code_executors.local_code_executor import ChildPython, LocalCodeExecutor
from runtime.context import InvocationContext

LIBC = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)"
RAISE = "raise OSError(ctypes.get_errno(), 'refused')"
# What Landlock leaves open before Linux 6.12, and truncation before Linux 6.2.
OPEN_IN_OLD_VERSIONS = (
    "import os; os.truncate({own!r}, 0)",
    "import os; os.open({own!r}, os.O_RDONLY | os.O_TRUNC)",
    "import os; os.open({own!r}, os.O_ACCMODE | os.O_TRUNC)",
    "import fcntl, os; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, {parent})",
    "import fcntl, os; fcntl.fcntl(os.pipe()[0], fcntl.F_SETSIG, 9)",
    "import fcntl, os, struct; fcntl.fcntl(os.pipe()[0], 15, struct.pack('ii', 1, {parent}))",
    "import fcntl, os; fcntl.fcntl(os.open('.', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)",
    "import fcntl, os; fcntl.fcntl(os.open('f', os.O_CREAT), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    "import fcntl, os, struct; fcntl.ioctl(os.pipe()[0], 0x8901, struct.pack('i', {parent}))",
    "import fcntl, os; fcntl.ioctl(os.open('f', os.O_CREAT), 0x40086602, bytes(8))",
)
pytestmark = pytest.mark.skipif(
    confinement.missing_protection() is not None, reason=str(confinement.missing_protection())
)


def run(
    invocation: InvocationContext,
    code: str,
    *files: File,
    executor: LocalCodeExecutor | None = None,
    **limits: Any,
) -> CodeExecutionResult:
    executor = executor or RestrictedCodeExecutor(**limits)
    return executor.execute_code(invocation, CodeExecutionInput(code, input_files=list(files)))


def test_t12_code_prints_and_computes(invocation: InvocationContext) -> None:
    result = run(invocation, "import math, json\nprint('ü', math.sqrt(16), json.dumps([1]))")
    assert (result.stdout, result.stderr, result.exit_code) == ("ü 4.0 [1]\n", "", 0)


def test_t12_files_of_the_input_are_read_and_new_ones_are_written_and_deleted(
    invocation: InvocationContext,
) -> None:
    code = "import os\nopen('new', 'w').write(open('a.csv').read())\nprint(sorted(os.listdir()), os.getcwd())"
    result = run(invocation, code, File("../a.csv", b"1,2"))
    listed, directory = result.stdout.strip().rsplit(" ", 1)
    assert listed == "['a.csv', 'new']"
    assert not Path(directory).exists()


def test_t12_a_traceback_begins_in_the_code(invocation: InvocationContext) -> None:
    result = run(invocation, "def f():\n    1 / 0\nf()")
    assert result.stderr.splitlines()[:2] == [
        "Traceback (most recent call last):",
        '  File "<code>", line 3, in <module>',
    ]
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "SyntaxError" in run(invocation, "1 +").stderr


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', {port}))",
        "import socket; socket.socket(socket.AF_UNIX)",
        "open('/etc/passwd').read()",
        "open({here!r}).read()",
        "import os; os.listdir('/tmp')",
        "import os; os.symlink('/etc', 'e'); os.listdir('e')",
        "open('/proc/{parent}/environ').read()",
        "import os; os.kill({parent}, 0)",
        "import os; os.fork()",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {{}})",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.setpriority(os.PRIO_PROCESS, {parent}, 19)",
        "import resource; resource.prlimit({parent}, resource.RLIMIT_CPU)",
        "open('/tmp/left-behind', 'w')",
        "import os; os.memfd_create('m')",
        "import os; os.chmod({own!r}, 0)",
        "import os; os.fchmod(os.open('f', os.O_CREAT), 0)",
        "import os; os.chown({own!r}, {uid}, -1)",
        "import os; os.utime({own!r}, (0, 0))",
        "import os; os.setxattr({own!r}, 'user.x', b'1')",
        f"{LIBC}; libc.shmat(0, None, 0); {RAISE}",
        f"{LIBC}; libc.inotify_init(); {RAISE}",
        f"{LIBC}; libc.inotify_init1(0); {RAISE}",
        f"{LIBC}; libc.fanotify_init(0x200, 0); {RAISE}",
        f"{LIBC}; libc.semget(1, 1, 0o1666); {RAISE}",
        "open('/usr/bin/env', 'rb').read()",
        *OPEN_IN_OLD_VERSIONS,
    ],
)
def test_t12_code_reaches_nothing_of_the_site(
    invocation: InvocationContext, tmp_path: Path, code: str
) -> None:
    own = tmp_path / "own"
    own.write_text("the site's")
    before = own.stat()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        values = {"port": listener.getsockname()[1], "parent": os.getpid(), "here": __file__}
        values |= {"own": str(own), "uid": os.getuid()}
        result = run(invocation, code.format(**values))
    assert "PermissionError" in result.stderr and result.exit_code == 1
    assert own.stat() == before


class FirstLandlock(RestrictedCodeExecutor):
    """Confines code as on Linux 5.13, with the first version of Landlock."""

    def new_process(self) -> ChildPython:
        process = super().new_process()
        script = process._arguments.index(str(confinement.SCRIPT))
        process._arguments[script : script + 1] = ["-c", FIRST_LANDLOCK]
        return process


FIRST_LANDLOCK = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("confinement", {str(confinement.SCRIPT)!r})
sys.modules["confinement"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module._landlock_version = lambda: 1
module.main()
"""


@pytest.mark.parametrize("code", OPEN_IN_OLD_VERSIONS)
def test_t12_older_kernels_keep_the_same_promise(
    invocation: InvocationContext, tmp_path: Path, code: str
) -> None:
    own = tmp_path / "own"
    own.write_text("the site's")
    code = code.format(own=str(own), parent=os.getpid())
    result = run(invocation, code, executor=FirstLandlock())
    assert "PermissionError" in result.stderr and result.exit_code == 1
    assert own.read_text() == "the site's"


def test_t12_code_may_overwrite_and_truncate_its_own_files(invocation: InvocationContext) -> None:
    code = """
import fcntl
for text in ("long", "ab"):
    with open("f", "w") as file:
        file.write(text)
with open("f", "r+") as file:
    file.truncate(1)
    fcntl.fcntl(file, fcntl.F_GETFL)
print(open("f").read())"""
    assert run(invocation, code).stdout == "a\n"


def test_t12_the_environment_of_the_site_is_not_passed_on(
    invocation: InvocationContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cr3t")
    code = "import os, sys\nprint(dict(os.environ), sys.path)"
    result = run(invocation, code)
    assert "s3cr3t" not in result.stdout and os.getcwd() + "'" not in result.stdout
    assert "s3cr3t" in run(invocation, code, executor=UnsafeLocalCodeExecutor()).stdout


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_t12_the_time_of_code_is_limited(invocation: InvocationContext, code: str) -> None:
    result = run(invocation, f"print('begun', flush=True)\n{code}", timeout_seconds=3)
    assert "timed out after 3 s" in result.stderr and result.exit_code == -9
    assert result.stdout == "begun\n"


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("x = 'a' * 10**10", "MemoryError"),
        ("open('f', 'wb').write(bytes(2 * 10**6))", "File too large"),
        ("import os\nos._exit(7)", "exited with status 7"),
        ("import ctypes; ctypes.string_at(0)", "exited with status -11"),
    ],
)
def test_t12_memory_and_files_of_code_are_limited(
    invocation: InvocationContext, code: str, word: str
) -> None:
    assert word in run(invocation, code, max_file_bytes=10**6).stderr


def test_t12_output_is_cut(invocation: InvocationContext) -> None:
    result = run(invocation, "print('y' * 200_000)")
    assert result.stdout.endswith("(cut after 50000 characters)") and len(result.stdout) < 50_100
    assert "File too large" in run(invocation, "while True: print('y' * 10_000)", max_file_bytes=10**6).stderr


def test_t12_code_may_start_threads(invocation: InvocationContext) -> None:
    code = (
        "import threading\nt = threading.Thread(target=print, args=('from a thread',))\nt.start()\nt.join()"
    )
    assert run(invocation, code).stdout == "from a thread\n"


def test_t12_threads_of_code_are_limited(invocation: InvocationContext) -> None:
    code = """
import threading
threading.stack_size(2**16)
for _ in range(40):
    threading.Thread(target=threading.Event().wait).start()"""
    result = run(invocation, code, max_threads=30)
    assert "started more than 30 threads" in result.stderr and result.exit_code == -9


AS_ANOTHER_USER = """
import confinement, os, sysconfig, threading
sysconfig.get_config_vars()  # is read from a file that the other user may not read
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.chdir("/tmp")
confinement.main()"""
THREADS_UNTIL_REFUSED = """
import os, threading
threading.stack_size(2**16)
for number in range(1, 200):
    try:
        threading.Thread(target=threading.Event().wait).start()
    except RuntimeError:
        break
print(number, flush=True)
os._exit(0)"""


def test_t12_the_kernel_limits_threads_where_the_process_has_its_own_users() -> None:
    limits = ProcessLimits(cpu_seconds=9, memory_bytes=2**30, file_bytes=2**20, threads=30, isolate=True)
    arguments = [sys.executable, "-c", AS_ANOTHER_USER, json.dumps(asdict(limits))]
    environment = {"PYTHONPATH": str(confinement.SCRIPT.parent)}
    ended = subprocess.run(
        arguments, input=THREADS_UNTIL_REFUSED, env=environment, capture_output=True, text=True
    )
    if subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode:
        pytest.skip("This machine refuses user namespaces.")
    assert (ended.stdout, ended.stderr) == ("30\n", "")


@pytest.mark.parametrize("executor", [RestrictedCodeExecutor(), UnsafeLocalCodeExecutor()])
async def test_t12_cancelling_ends_the_process(
    invocation: InvocationContext, executor: LocalCodeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that was started is gone when the thread that waits for it has ended."""
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    process = executor.new_process()
    start = process._start
    begun: list[subprocess.Popen[bytes]] = []

    def report(*arguments: Any) -> Any:
        begun.append(start(*arguments))
        loop.call_soon_threadsafe(started.set)
        return begun[0]

    monkeypatch.setattr(process, "_start", report)
    monkeypatch.setattr(type(executor), "new_process", lambda _: process)
    running = asyncio.create_task(
        executor.execute_code_async(invocation, CodeExecutionInput("import time; time.sleep(600)"))
    )
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(begun[0].wait, 30) == -9


def test_t12_a_system_without_isolation_is_refused_unless_the_author_accepts_it(
    invocation: InvocationContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "runtime.code_executors.restricted_code_executor.missing_protection", lambda: "no Landlock"
    )
    with pytest.raises(ValueError, match="no Landlock"):
        RestrictedCodeExecutor()
    accepted = RestrictedCodeExecutor(require_isolation=False)
    assert "root" in run(invocation, "print(open('/etc/passwd').read())", executor=accepted).stdout
    assert "MemoryError" in run(invocation, "x = 'a' * 10**10", executor=accepted).stderr


def test_the_unsafe_executor_has_the_modules_of_this_process(invocation: InvocationContext) -> None:
    result = run(invocation, "import tests\nprint(tests.__name__)", executor=UnsafeLocalCodeExecutor())
    assert (result.stdout, result.stderr) == ("tests\n", "")
    warned = run(invocation, "import sys\nprint('w', file=sys.stderr)", executor=UnsafeLocalCodeExecutor())
    assert (warned.stderr, warned.exit_code) == ("", 0)

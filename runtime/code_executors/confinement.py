"""Script of the processes that run a model's code: it restricts its own process, then runs the code.

Resource limits work on Linux and macOS, isolation on Linux only. A process can give up rights but never regain them, so
the order is: limits; namespaces, where this process may have its own; Landlock, which allows access to listed files
only; capabilities, so a process of root has no more rights than others; and last a seccomp filter, which denies the
listed system calls.

Older versions of Landlock do not know signals by `fcntl` (before Linux 6.12) and truncation (before Linux 6.2). The
filter denies both on every kernel, so the promise does not depend on the version.

Only the standard library is imported: the process runs without the site's import path.
"""

import ctypes
import errno
import json
import os
import platform
import resource
import struct
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(__file__)
RUN_ONLY = "{}"

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_PR_GET_SECCOMP = 21
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_CAPSET_VERSION_3 = 0x20080522
_NEW_USER_IPC_AND_NETWORK_NAMESPACES = 0x10000000 | 0x08000000 | 0x40000000

# Rights of Landlock on files and directories: https://docs.kernel.org/userspace-api/landlock.html
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_TRUNCATE = 1 << 14
_FS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_EXECUTE = 1
_TCP_RIGHTS = 0b11
_SCOPES = 0b11

_READABLE = (
    *("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random"),
)
_READABLE_SYSTEM_INFO = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
_DEVICES = ("/dev/null", "/dev/zero")

# Instructions and results of seccomp filters: https://docs.kernel.org/userspace-api/seccomp_filter.html
_LOAD = 0x20
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_AND = 0x54
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000
_Instruction = tuple[int, int, int, int]
"""Code, steps to skip if true, steps to skip if false, operand."""
_REFUSE: _Instruction = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
_ALLOW_CALL: _Instruction = (_RETURN, 0, 0, _ALLOW)
_X32_SYSTEM_CALLS = 0x40000000
_CLONE_THREAD = 0x10000

# Commands of fcntl and ioctl
_SIGNALLING_FCNTL = (8, 10, 15, 1024, 1026)
"""F_SETOWN, F_SETSIG and F_SETOWN_EX have the kernel send any signal to any process. F_SETLEASE holds up other
processes that open the file, and F_NOTIFY watches a directory."""
_REFUSED_IOCTL = (0x8901, 0x8902, 0x40086602, 0x401C5820)
"""FIOSETOWN and SIOCSPGRP do as F_SETOWN; FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR change attributes of a file."""
_TRUNCATE_FLAG = 0x200
_ACCESS_MODE = 0b11
_WRITE_ONLY = 1
_READ_WRITE = 2


@dataclass(frozen=True)
class ProcessLimits:
    """Limits of a process; `isolate` also denies it access to network, files, processes and signals."""

    cpu_seconds: int | None
    memory_bytes: int
    file_bytes: int
    threads: int
    isolate: bool


@dataclass(frozen=True)
class _SystemCalls:
    """Numbers of system calls on a processor architecture."""

    audit_arch: int
    capset: int
    clone: int
    prlimit64: int
    fcntl: int
    ioctl: int
    opening: tuple[tuple[int, int], ...]
    """Calls that open a file, each with the index of the argument that has the flags."""
    denied: tuple[int, ...]


# Number on x86-64, number on ARM64 or None.
_DENIED: dict[str, tuple[int, int | None]] = {
    # Network
    "socket": (41, 198),
    "io_uring_setup": (425, 425),
    # Other processes
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    # Priorities
    "setpriority": (141, 140),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    # Memory, semaphores and queues that processes share
    "memfd_create": (319, 279),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # Modes, owners, times and attributes of files, which Landlock leaves open
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # Truncation by path; files that are open for writing can be truncated
    "truncate": (76, 45),
    # News about files, whose names Landlock does not hide
    "inotify_init1": (294, 26),
    "inotify_init": (253, None),
    "fanotify_init": (300, 262),
    # The kernel
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "chroot": (161, 51),
    "pivot_root": (155, 41),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
}
_SYSTEM_CALLS = {
    "x86_64": _SystemCalls(
        audit_arch=0xC000003E,
        capset=126,
        clone=56,
        prlimit64=302,
        fcntl=72,
        ioctl=16,
        opening=((2, 1), (257, 2)),
        denied=tuple(x86 for x86, _ in _DENIED.values()),
    ),
    "aarch64": _SystemCalls(
        audit_arch=0xC00000B7,
        capset=91,
        clone=220,
        prlimit64=261,
        fcntl=25,
        ioctl=29,
        opening=((56, 2),),
        denied=tuple(arm for _, arm in _DENIED.values() if arm),
    ),
}
_CLONE3 = 435
_OPENAT2 = 437


def missing_protection() -> str | None:
    """Return the reason why this system cannot isolate a process, or None if it can."""
    if sys.platform != "linux" or platform.machine() not in _SYSTEM_CALLS:
        return f"it needs Linux on x86-64 or ARM64, and this is {sys.platform} on {platform.machine()}"
    if _landlock_version() < 1:
        return "the kernel has no Landlock (Linux 5.13 or later with `landlock` among its security modules)"
    if _libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) < 0:
        return "the kernel has no seccomp filters (`CONFIG_SECCOMP_FILTER`)"
    return None


def main() -> None:
    """Apply the limits given as first argument to this process, then run the code from standard input."""
    given = json.loads(sys.argv[1])
    source = sys.stdin.buffer.read().decode("utf-8", "replace")
    # The code must not see our argument in `sys.argv`.
    del sys.argv[1:]
    if given:
        confine(ProcessLimits(**given))
    run(source)


def confine(limits: ProcessLimits) -> None:
    """Restrict this process irrevocably."""
    set_limits(limits)
    if not limits.isolate:
        return
    calls = _SYSTEM_CALLS[platform.machine()]
    # Without this flag, the kernel accepts a filter from privileged processes only.
    _check_result(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _enter_namespaces(limits.threads)
    _allow_files(os.getcwd())
    _drop_capabilities(calls)
    _deny_system_calls(calls)


def set_limits(limits: ProcessLimits) -> None:
    """Limit time, memory, and size and number of files of this process."""
    wanted = {
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 128,
    }
    for kind, value in wanted.items():
        if value is None:
            continue
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (allowed, allowed))
        except (ValueError, OSError):
            # macOS refuses a limit of the address space below what a process has reserved.
            if sys.platform == "linux":
                raise


def run(source: str) -> None:
    """Run the code as a script; its traceback begins in the code itself."""
    scope = {"__name__": "__main__", "__builtins__": __builtins__}
    try:
        exec(compile(source, "<code>", "exec"), scope)  # noqa: S102  # the purpose of this process
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  # reported to the model
        # Skip the frame of this function.
        below = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, below)
        sys.exit(1)


def _enter_namespaces(max_threads: int) -> None:
    """Leave the users, the network and the shared memory of the machine, and have the kernel limit the threads.

    Many containers and some distributions refuse namespaces. What follows protects without them, and `ChildPython`
    counts the threads in any case: the kernel's limit does not hold for root.
    """
    if _libc().unshare(_NEW_USER_IPC_AND_NETWORK_NAMESPACES) < 0:
        return
    # Before Linux 5.14 the limit counts all processes of the user. This version of Landlock came with Linux 5.19.
    if _landlock_version() >= 2:
        resource.setrlimit(resource.RLIMIT_NPROC, (max_threads, max_threads))


def _allow_files(directory: str) -> None:
    """Allow reading Python and the system's libraries, and writing to the directory; deny all other files."""
    version = _landlock_version()
    rights = _FS_RIGHTS[max(known for known in _FS_RIGHTS if known <= version)]
    # Older kernels know only the first fields of this structure, and refuse a longer one.
    fields = [rights]
    if version >= 4:
        fields.append(_TCP_RIGHTS)
    if version >= 6:
        fields.append(_SCOPES)
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    ruleset = _check_result(_libc().syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path in (*_READABLE, *_READABLE_SYSTEM_INFO, *_python_directories()):
        _allow_path(ruleset, path, _READ_FILE | _READ_DIR)
    for path in _DEVICES:
        _allow_path(ruleset, path, _READ_FILE | _WRITE_FILE)
    # Nothing may be executed from the only writable directory.
    _allow_path(ruleset, directory, rights & ~_EXECUTE)
    _check_result(_libc().syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _python_directories() -> set[str]:
    """Return the directories of the standard library, installed packages and shared libraries of Python."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_path(kind) for kind in kinds]
    # In a virtual environment, the standard library is below `sys.base_prefix`.
    paths += [sysconfig.get_path(kind, vars={"base": sys.base_prefix}) for kind in kinds]
    paths.append(sysconfig.get_config_var("LIBDIR") or "")
    return {os.path.realpath(path) for path in paths if path}


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    if not os.path.exists(path):
        return
    if not os.path.isdir(path):
        rights &= _READ_FILE | _WRITE_FILE | _TRUNCATE
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _check_result(_libc().syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, opened), 0))
    finally:
        os.close(opened)


def _drop_capabilities(calls: _SystemCalls) -> None:
    header = struct.pack("Ii", _CAPSET_VERSION_3, 0)
    # Two empty sets of effective, permitted and inheritable capabilities.
    data = bytes(24)
    _check_result(_libc().syscall(calls.capset, header, data))


def _deny_system_calls(calls: _SystemCalls) -> None:
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _filter_program(calls))
    buffer = ctypes.create_string_buffer(program, len(program))
    attributes = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))
    _check_result(_libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, attributes, 0, 0))


def _filter_program(calls: _SystemCalls) -> Iterable[_Instruction]:
    # Offsets in the kernel's `seccomp_data`.
    number = 0
    arch = 4
    yield from [(_LOAD, 0, 0, arch), (_EQUAL, 1, 0, calls.audit_arch), (_RETURN, 0, 0, _KILL)]
    yield from [(_LOAD, 0, 0, number), (_AT_LEAST, 0, 1, _X32_SYSTEM_CALLS), _REFUSE]
    for denied in calls.denied:
        yield from [(_EQUAL, 0, 1, denied), _REFUSE]
    # Without these, whose flags a filter cannot read, the C library uses clone and openat.
    for unreadable in (_CLONE3, _OPENAT2):
        yield from [(_EQUAL, 0, 1, unreadable), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    yield from _of_call(
        calls.clone, [_load_argument(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), _ALLOW_CALL, _REFUSE]
    )
    # A process may change its own limits (which it can only lower), not those of others.
    yield from _of_call(calls.prlimit64, [_load_argument(0), (_EQUAL, 0, 1, 0), _ALLOW_CALL, _REFUSE])
    yield from _of_call(calls.fcntl, _refuse_commands(_SIGNALLING_FCNTL))
    yield from _of_call(calls.ioctl, _refuse_commands(_REFUSED_IOCTL))
    for opening, flags in calls.opening:
        yield from _of_call(opening, _refuse_truncation_without_writing(flags))
    yield _ALLOW_CALL


def _of_call(number: int, instructions: Sequence[_Instruction]) -> list[_Instruction]:
    """Return instructions that decide about one system call; for others, the filter continues behind them."""
    return [(_EQUAL, 0, len(instructions), number), *instructions]


def _load_argument(index: int) -> _Instruction:
    """Return the instruction that loads the lower half of an argument."""
    first_argument = 16
    return (_LOAD, 0, 0, first_argument + 8 * index)


def _refuse_commands(commands: Sequence[int]) -> list[_Instruction]:
    """Return instructions that refuse these values of the second argument."""
    refused = [step for command in commands for step in ((_EQUAL, 0, 1, command), _REFUSE)]
    return [_load_argument(1), *refused, _ALLOW_CALL]


def _refuse_truncation_without_writing(flags: int) -> list[_Instruction]:
    """Return instructions that refuse to truncate a file that is not opened for writing.

    Landlock before Linux 6.2 looks at reading and writing only.
    """
    return [
        _load_argument(flags),
        (_ANY_BIT, 0, 4, _TRUNCATE_FLAG),
        (_AND, 0, 0, _ACCESS_MODE),
        (_EQUAL, 2, 0, _WRITE_ONLY),
        (_EQUAL, 1, 0, _READ_WRITE),
        _REFUSE,
        _ALLOW_CALL,
    ]


def _landlock_version() -> int:
    return int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check_result(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "The process cannot be isolated")
    return result


if __name__ == "__main__":
    main()

"""Code execution in a restricted process (contract T12)."""

import json
import math
import os
from dataclasses import asdict
from typing import Any

from runtime.code_executors.confinement import SCRIPT, ProcessLimits, missing_protection
from runtime.code_executors.local_code_executor import MAX_OUTPUT_CHARACTERS, ChildPython, LocalCodeExecutor


class RestrictedCodeExecutor(LocalCodeExecutor):
    """Run code in a separate process with few rights and limits of time, memory, threads and file size.

    On Linux (x86-64, ARM) the process has no network and no sockets, starts no other process, signals none, reads only
    the Python installation and system libraries, and writes only to a directory that is deleted afterwards. It cannot
    change a file's mode, owner or times: `shutil.copy` fails, `shutil.copyfile` works. `os.truncate` of a path fails,
    `truncate` of an open file works. Its environment holds no variables of the site. The kernel enforces these
    restrictions by seccomp and Landlock (Linux 5.13), and later kernels enforce the same.

    The process does not protect against faults of the kernel, against side channels of a shared processor, or against
    code that fills the disk with many files until its time is over. It can read every installed Python package. Use
    virtual machines against deliberate attacks.

    Attributes:
        max_memory_bytes: address space of the process.
        max_threads: threads of the process. Where the kernel gives the process a user namespace and the site does not
            run as root, it cannot start more; elsewhere it is killed when it has started more.
        max_file_bytes: size of a file, and of the output.
        max_output_characters: characters after which the output is cut.
        require_isolation: False to run code without the protections missing on this system. On macOS, the network and
            all files are then reachable.

    Raises:
        ValueError: this system cannot isolate a process, and `require_isolation` is set.
    """

    timeout_seconds: float | None = 30
    max_memory_bytes: int = 1024**3
    max_threads: int = 64
    max_file_bytes: int = 10 * 1024**2
    max_output_characters: int = MAX_OUTPUT_CHARACTERS
    require_isolation: bool = True

    def model_post_init(self, context: Any, /) -> None:
        missing = missing_protection()
        if missing and self.require_isolation:
            raise ValueError(
                f"RestrictedCodeExecutor cannot isolate code here: {missing}. Run the site where this works, or set "
                "require_isolation=False to accept code that reaches the network and all files."
            )

    def new_process(self) -> ChildPython:
        limits = ProcessLimits(
            # More than the timeout, so the process ends with the message of the timeout.
            cpu_seconds=math.ceil(self.timeout_seconds) + 1 if self.timeout_seconds else None,
            memory_bytes=self.max_memory_bytes,
            file_bytes=self.max_file_bytes,
            threads=self.max_threads,
            isolate=missing_protection() is None,
        )
        environment = {
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            # A thread for each processor would take much of the address space.
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        # -I leaves out the user's packages and the directory of the script; -X utf8 sets the encoding.
        arguments = ["-I", "-X", "utf8", str(SCRIPT), json.dumps(asdict(limits))]
        return ChildPython(
            arguments, environment, self.timeout_seconds, self.max_threads, self.max_output_characters
        )

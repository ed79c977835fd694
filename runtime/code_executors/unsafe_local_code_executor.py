"""Code execution without protection (contract T12)."""

import os
import sys

from runtime.code_executors.base_code_executor import BaseCodeExecutor  # noqa: F401  # programs import it from here
from runtime.code_executors.confinement import RUN_ONLY, SCRIPT
from runtime.code_executors.local_code_executor import ChildPython, LocalCodeExecutor


class UnsafeLocalCodeExecutor(LocalCodeExecutor):
    """Run code in a process with all rights of the current process: its environment, files, modules and network.

    The code can read the secrets of the site and change its data. Use this class only if every user of the agent, and
    every text that the agent reads, is trusted; otherwise use `RestrictedCodeExecutor`.
    """

    timeout_seconds: float | None = 300

    def new_process(self) -> ChildPython:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
        return ChildPython([str(SCRIPT), RUN_ONLY], environment, self.timeout_seconds)

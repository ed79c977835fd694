"""`python -m adk_site.dev`: start the whole site in a process that carries the mark of its data directory."""

import os
import sys

from adk_site.dev.marked_processes import mark_variables
from adk_site.embedded.paths import data_dir


def main() -> None:
    environment = {
        **os.environ,
        **mark_variables(data_dir()),
        "ADK_DEV": "1",
        "PYTHONUNBUFFERED": "1",
        # A worker that is told to stop gives its running jobs back to the queue instead of finishing them.
        "REMAP_SIGTERM": "SIGQUIT",
    }
    os.execve(sys.executable, [sys.executable, "-m", "adk_site.dev.site"], environment)  # noqa: S606 (Python)


if __name__ == "__main__":
    main()

"""`python -m adk_site.dev`: start the site and its embedded servers; Ctrl-C or SIGTERM stops all of them."""

import os

from adk_site.dev.marked_processes import restart_with_mark
from adk_site.embedded.paths import data_dir

if __name__ == "__main__":
    data = data_dir()
    restart_with_mark(data)

    # Makes workers return their running jobs to the queue on SIGTERM, instead of finishing them. Set before any
    # import of Celery: its pool reads the variable when it is imported, and the workers are forks of this process.
    os.environ["REMAP_SIGTERM"] = "SIGQUIT"
    # Imported after the restart, because the imports take more than a second.
    from adk_site.dev.site import run_site

    run_site(data)

"""`python -m adk_site.dev`: start the site and its embedded servers; Ctrl-C or SIGTERM stops all of them."""

from adk_site.dev.marked_processes import restart_with_mark
from adk_site.embedded.paths import data_dir

if __name__ == "__main__":
    data = data_dir()
    restart_with_mark(data)

    # These imports take more than a second, which the program before the restart saves.
    from adk_site.dev.site import run_site

    run_site(data)

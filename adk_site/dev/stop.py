"""`python -m adk_site.dev.stop`: stop all processes and servers of this data directory's site."""

from django.template.defaultfilters import pluralize

from adk_site.dev.marked_processes import stop_marked_processes
from adk_site.embedded.lifetime import stop_servers
from adk_site.embedded.paths import data_dir


def main() -> None:
    data = data_dir()
    stopped = stop_marked_processes(data)
    stop_servers(data)
    if stopped:
        print(f"Stopped {stopped} process{pluralize(stopped, 'es')} of {data}.")
    else:
        print(f"No process of {data} was running.")


if __name__ == "__main__":
    main()

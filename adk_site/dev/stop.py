"""`python -m adk_site.dev.stop`: stop whatever still runs of the site of this data directory."""

from adk_site.dev.marked import stop_marked
from adk_site.embedded.lifetime import stop_servers
from adk_site.embedded.paths import data_dir


def main() -> None:
    data = data_dir()
    found = stop_marked(data)
    stop_servers(data)
    print(f"Stopped {found} processes of {data}." if found else f"Nothing of {data} was running.")


if __name__ == "__main__":
    main()

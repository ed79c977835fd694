#!/usr/bin/env python3
"""Django's management commands. An embedded server runs for the command if a server's URL is not set."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from adk_site.embedded.lifetime import running_servers
from adk_site.embedded.paths import data_dir


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
    try:
        with running_servers(data_dir()):
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()

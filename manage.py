#!/usr/bin/env python3
"""Django's management commands. In development, embedded servers run for the command if their URLs are not set."""

import os
import sys
from contextlib import nullcontext

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from adk_site.development import develop_unless_configured, is_development
from adk_site.embedded.lifetime import running_servers
from adk_site.embedded.paths import data_dir


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "adk_site.settings")
    develop_unless_configured()
    try:
        with running_servers(data_dir()) if is_development() else nullcontext():
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()

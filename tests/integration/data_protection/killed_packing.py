"""A program that packs a session and is killed at one of its statements: the id, the folder of files, the number."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import django
from django.conf import settings
from django.db import connection

django.setup()

from sessions_app.data_protection.packing import pack_session  # noqa: E402 - needs the set-up


class Killer:
    """Kills this process at the statement with a number: before it, and after it for a negative number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._statements = 0

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        self._statements += 1
        if self._statements == self._number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = execute(*args)
        if self._statements == -self._number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def main() -> None:
    session_id, folder, number = sys.argv[1:]
    settings.MEDIA_ROOT = folder
    with connection.execute_wrapper(Killer(int(number))):
        sys.exit(0 if pack_session(UUID(session_id)) else 1)


if __name__ == "__main__":
    main()

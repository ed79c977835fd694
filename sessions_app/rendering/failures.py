"""Log filter for rows that cannot be rendered: a row is not logged again whenever its page is loaded."""

from __future__ import annotations

import logging

MAX_REMEMBERED = 10_000


class OnceFilter(logging.Filter):
    """Lets each message pass once in this process. At `MAX_REMEMBERED` messages it forgets all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if message in self._logged:
            return False
        if len(self._logged) >= MAX_REMEMBERED:
            self._logged.clear()
        self._logged.add(message)
        return True

    def forget(self) -> None:
        """Let every message pass again."""
        self._logged.clear()


once = OnceFilter()
"""The filter that all loggers of such rows share."""

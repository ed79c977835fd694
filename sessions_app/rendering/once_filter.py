"""Log filter for rows that cannot be rendered: each is logged once, not whenever its page is loaded."""

import logging

MAX_REMEMBERED = 10_000


class OnceFilter(logging.Filter):
    """Pass each message once in this process. After `MAX_REMEMBERED` messages all are forgotten."""

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
"""Filter shared by the loggers of such rows."""

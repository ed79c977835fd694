"""Log of rows that cannot be rendered. A page that is loaded again does not log them again."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)
LARGEST_MEMORY = 10_000
_logged: set[str] = set()


def log_once(sentence: str) -> None:
    """Log the exception that is being handled under a sentence that names the row, once in this process."""
    if sentence in _logged:
        return
    if len(_logged) >= LARGEST_MEMORY:
        _logged.clear()
    _logged.add(sentence)
    logger.exception(sentence)

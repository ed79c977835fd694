"""Access log of Daphne without the words and secrets in addresses.

Daphne writes the log to a file itself, so no filter of Python's logging could mask a key in it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

from daphne import access, cli

from sessions_app.secrets.masking import mask_text, masking


def mask_access_log() -> None:
    """Let Daphne write the lines of its access log without queries, and with their paths masked."""
    cli.AccessLogGenerator = MaskedAccessLog


class MaskedAccessLog(access.AccessLogGenerator):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's access log without queries, which may hold a search or a misplaced key."""

    def write_entry(self, host: str, date: Any, request: str, **values: Any) -> None:
        """Write the line of a request: its method and its address."""
        super().write_entry(host, date, _masked(request), **values)


def _masked(request: str) -> str:
    shown = request.partition("?")[0]
    plain = unquote(shown)
    with masking():
        masked = mask_text(plain)
    return shown if masked == plain else quote(masked, safe=" /[]=:")

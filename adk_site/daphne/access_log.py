"""Access log of Daphne without secrets in addresses.

Daphne writes this log to a file itself, so a filter of Python's logging could not mask a key in it.
"""

from typing import Any
from urllib.parse import quote, unquote

from daphne import access, cli

from sessions_app.secrets.masking import mask_text, masking


def mask_access_log() -> None:
    """Make Daphne write its access log without queries and with masked paths."""
    cli.AccessLogGenerator = MaskedAccessLog


class MaskedAccessLog(access.AccessLogGenerator):  # type: ignore[misc]  # Daphne has no type hints
    """Daphne's access log without queries, which may contain a search or a misplaced key."""

    def write_entry(self, host: str, date: Any, request: str, **values: Any) -> None:
        """Write the line for a request: its method and its address."""
        super().write_entry(host, date, _masked(request), **values)


def _masked(request: str) -> str:
    shown = request.partition("?")[0]
    # Masking needs the plain text: a percent-encoded key would not be recognized.
    plain = unquote(shown)
    with masking():
        masked = mask_text(plain)
    return shown if masked == plain else quote(masked, safe=" /[]=:")

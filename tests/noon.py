"""Time zone in which it is about noon, for tests that midnight must not interrupt."""

from __future__ import annotations

from datetime import UTC, datetime

_AHEAD = 12 - datetime.now(UTC).hour
ZONE_AT_NOON = f"Etc/GMT{-_AHEAD:+d}"
"""Such names have the sign of POSIX."""

"""Clock of the database. All processes decide by it what is due: the clocks of their machines differ."""

from __future__ import annotations

from datetime import datetime

from sessions_app.process.pool import fetch_all


async def database_now() -> datetime:
    """Return the database's time."""
    [row] = await fetch_all("SELECT now()", {})
    now: datetime = row["now"]
    return now

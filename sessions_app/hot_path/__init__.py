"""The SQL of the hot path: one statement each, on psycopg's async pool (design.md, "PostgreSQL is the truth").

It stands beside the models that own the columns; everything else uses the ORM.
"""

from sessions_app.hot_path.leases import (
    Claim,
    Finished,
    Queued,
    claim_next,
    enqueue,
    finish,
    hand_over,
    mark_sent,
    renew,
    sessions_with_forgotten_queue,
    settle_waiting,
    take_back_expired,
)
from sessions_app.hot_path.log import (
    Append,
    Committed,
    Loaded,
    SessionKey,
    Standing,
    append,
    events_after,
    load,
    standing,
    standings,
)

__all__ = [
    "Append",
    "Claim",
    "Committed",
    "Finished",
    "Loaded",
    "Queued",
    "SessionKey",
    "Standing",
    "append",
    "claim_next",
    "enqueue",
    "events_after",
    "finish",
    "hand_over",
    "load",
    "mark_sent",
    "renew",
    "sessions_with_forgotten_queue",
    "settle_waiting",
    "standing",
    "standings",
    "take_back_expired",
]

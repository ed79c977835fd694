"""The SQL of the hot path: one statement each, on psycopg's async pool (design.md, "PostgreSQL is the truth").

It stands beside the models that own the columns; everything else uses the ORM.
"""

from sessions_app.hot_path.cancelling import CancelRequest, is_stopped_by_staff, request_cancel
from sessions_app.hot_path.holding import hold, let_go
from sessions_app.hot_path.leases import (
    Claim,
    Finished,
    Renewed,
    claim_next,
    finish,
    hand_over,
    mark_sent,
    renew,
    sessions_with_forgotten_queue,
    settle_waiting,
    take_back_expired,
)
from sessions_app.hot_path.limits import Limits
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
from sessions_app.hot_path.queue import REFUSED, Lease, Overtaken, Queued, Terms, enqueue, make_way

__all__ = [
    "REFUSED",
    "Append",
    "CancelRequest",
    "Claim",
    "Committed",
    "Finished",
    "Lease",
    "Limits",
    "Loaded",
    "Overtaken",
    "Queued",
    "Renewed",
    "SessionKey",
    "Standing",
    "Terms",
    "append",
    "claim_next",
    "enqueue",
    "events_after",
    "finish",
    "hand_over",
    "hold",
    "is_stopped_by_staff",
    "let_go",
    "load",
    "make_way",
    "mark_sent",
    "renew",
    "request_cancel",
    "sessions_with_forgotten_queue",
    "settle_waiting",
    "standing",
    "standings",
    "take_back_expired",
]

"""Lookup of the actors of events: who asked for an invocation, and who rewound or switched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions_app.base.codec import json_object
from sessions_app.history.event_marks import ANSWER
from sessions_app.models import Invocation, Session, SessionAct
from sessions_app.models.actor_columns import ActorColumns

COLUMNS = ("actor_kind", "actor_id", "actor_name", "address", "reason")


def load_event_actors(session: Session, bodies: Mapping[int, Any]) -> dict[int, ActorColumns]:
    """Return the rows with the actors of events by seq, in two queries, except for events of agents."""
    asked = {
        seq: invocation_of(body) for seq, body in bodies.items() if json_object(body).get("author") == "user"
    }
    ids = {invocation_id for invocation_id in asked.values() if isinstance(invocation_id, str)}
    rows = Invocation.objects.filter(session=session, invocation_id__in=ids).exclude(actor_kind="")
    invocations = {row.invocation_id: row for row in rows.only("invocation_id", *COLUMNS)}
    found: dict[int, ActorColumns] = {
        seq: invocations[invocation_id]
        for seq, invocation_id in asked.items()
        if invocation_id in invocations
    }
    acts = SessionAct.objects.filter(session=session, seq__in=list(bodies))
    return {**found, **{act.seq: act for act in acts if act.seq is not None}}


def invocation_of(body: Any) -> str | None:
    """Return the id of the invocation that stored the event."""
    # The event of an answer may have the id of the calling invocation; its mark has the id of the answering
    # invocation.
    answer = json_object(json_object(json_object(body).get("customMetadata")).get(ANSWER))
    found = answer.get("invocation") or json_object(body).get("invocationId")
    return found if isinstance(found, str) else None

"""Chain of a log as a file: all that is hashed, to compute the hashes again without the database.

    {"session": id, "begin": text or null, "link": hash, "previous": hash,
     "events": [{"seq": 1, "hash": hash, "body": text, "before": text, "facts": text}, …], "proof": {…} or null}

    hash(n) = 2 and SHA-256 of hash(n - 1), n, a space, body, before and facts
    hash(0) = `link` = SHA-256 of the last hash of 32 bytes, if there is one, and `begin`

A chain of one event has the hash of the event before it as `previous`. What has masked values is left out: of such an
event only the number and the hash are there, and the next hash covers them.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.history.roots import Proofs
from sessions_app.models import Event
from sessions_app.secrets.masking import mask_json

_EVENTS = """
SELECT seq, encode(hash, 'hex'), body::text, coalesce(before::text, ''), adk_facts(session_id, body)
FROM sessions_app_event WHERE session_id = %s AND seq BETWEEN %s AND %s ORDER BY seq"""
_BEGIN = """
SELECT jsonb_build_array(id, app_name, user_id, key, initial_state)::text, encode(adk_first_link(id, (
    SELECT hash FROM sessions_app_event WHERE session_id = s.id AND octet_length(hash) = 32 ORDER BY seq DESC LIMIT 1
)), 'hex') FROM sessions_app_session s WHERE id = %s"""


def chain_of(session_id: UUID, first: int, last: int, proofs: Proofs | None) -> dict[str, Any]:
    """Return the masked chain of the events from `first` to `last`, with the proof of the newest that a root covers."""
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, [session_id])
        begin, link = cursor.fetchone()
        cursor.execute(_EVENTS, [session_id, max(first - 1, 1), last])
        events = [_masked_link(*row) for row in cursor]
    previous = ""
    if first > 1:
        previous = events.pop(0)["hash"]
    return {
        "session": str(session_id),
        "begin": begin if first == 1 and mask_json(begin) == begin else None,
        "link": link,
        "previous": previous,
        "events": events,
        "proof": _proof(session_id, first, last, proofs),
    }


def _masked_link(seq: int, hash_: str | None, body: str, before: str, facts: str) -> dict[str, Any]:
    link = {"seq": seq, "hash": hash_ or ""}
    hashed = {"body": body, "before": before, "facts": facts}
    if any(mask_json(text) != text for text in hashed.values()):
        return link
    return {**link, **hashed}


def _proof(session_id: UUID, first: int, last: int, proofs: Proofs | None) -> dict[str, Any] | None:
    if proofs is None:
        return None
    events = Event.objects.filter(session=session_id, seq__range=(first, last), pk__lte=proofs.covered)
    newest = events.only("pk", "session_id", "seq").order_by("-seq").first()
    return proofs.of(newest) if newest else None

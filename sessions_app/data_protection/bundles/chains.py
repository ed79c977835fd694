"""Chain of a log as a file: all that is hashed, to compute the hashes again without the database.

    {"session": id, "begin": text or null, "link": hash, "previous": hash,
     "proof": {…} or null, "events": [{"seq": 1, "hash": hash, "body": text, "before": text, "facts": text}, …]}

    hash(n) = 2 and SHA-256 of hash(n - 1), n, a space, body, before and facts
    hash(0) = `link` = SHA-256 of the last hash of 32 bytes, if there is one, and `begin`

A chain of one event has the hash of the event before it as `previous`. What has masked values is left out: of such an
event only the number and the hash are there, and the next hash covers them.
"""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.data_protection.archive import as_json, json_list
from sessions_app.errors import ConflictError
from sessions_app.secrets.masking import mask_json

EVENTS_PER_QUERY = 200
_EVENTS = """
SELECT seq, encode(hash, 'hex'), body::text, coalesce(before::text, ''), adk_facts(session_id, body)
FROM sessions_app_event WHERE session_id = %s AND seq BETWEEN %s AND %s ORDER BY seq LIMIT %s"""
_BEGIN = """
SELECT jsonb_build_array(id, app_name, user_id, key, initial_state)::text, encode(adk_first_link(id, (
    SELECT hash FROM sessions_app_event WHERE session_id = s.id AND octet_length(hash) = 32 ORDER BY seq DESC LIMIT 1
)), 'hex') FROM sessions_app_session s WHERE id = %s"""


def chain_of(session_id: UUID, first: int, last: int, proof: dict[str, Any] | None) -> Iterator[bytes]:
    """Yield the masked chain of the events from `first` to `last`.

    Args:
        proof: that of the newest event that a signed root covers.

    Raises:
        ConflictError: the session was erased.
    """
    row = _first_row(_BEGIN, [session_id])
    if row is None:
        raise ConflictError(f"Session {session_id} was erased while it was sealed. Seal the case file again.")
    begin, link = row
    previous = ""
    if first > 1 and (before := _first_row(_EVENTS, [session_id, first - 1, first - 1, 1])):
        previous = before[1] or ""
    head = {
        "session": session_id,
        "begin": begin if first == 1 and mask_json(begin) == begin else None,
        "link": link,
        "previous": previous,
        "proof": proof,
    }
    yield as_json(head)[:-1] + b', "events": '
    yield from json_list(_links(session_id, first, last))
    yield b"}\n"


def _first_row(query: str, params: list[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def _links(session_id: UUID, first: int, last: int) -> Iterator[dict[str, Any]]:
    """Yield the events, read page by page: a log may be larger than the memory."""
    while first <= last:
        with connection.cursor() as cursor:
            cursor.execute(_EVENTS, [session_id, first, last, EVENTS_PER_QUERY])
            page = cursor.fetchall()
        if not page:
            return
        for row in page:
            yield _masked_link(*row)
        first = page[-1][0] + 1


def _masked_link(seq: int, hash_: str | None, body: str, before: str, facts: str) -> dict[str, Any]:
    link = {"seq": seq, "hash": hash_ or ""}
    hashed = {"body": body, "before": before, "facts": facts}
    if any(mask_json(text) != text for text in hashed.values()):
        return link
    return {**link, **hashed}

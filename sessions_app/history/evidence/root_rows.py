"""Rows that signed roots cover: their names and hashes, read by key.

A row is found by its key, which grows with each row.
"""

from collections.abc import Iterator, Mapping

from django.db import connection

_LOWEST_KEY = -(2**63)
_ACTOR = "actor_kind, actor_id, actor_name, address"
_ACT = f"{_ACTOR}, action, subject_kind, subject_id, reason, extract(epoch FROM at)"
_RECORDS = {
    # Acts are older than their details: those without one keep their hash.
    "staffact": (
        _ACT.replace("reason", "reason || CASE detail WHEN '' THEN '' ELSE chr(31) || detail END"),
        "''",
    ),
    "sessionact": (f"session_id, seq, {_ACT}", "session_id"),
    "accountact": (f"user_id, {_ACT}", "user_id"),
    "staffaccess": (
        f"{_ACTOR}, kind, subject_kind, subject_id, detail, reason, extract(epoch FROM at)",
        "''",
    ),
    "actrequest": (f"{_ACTOR}, act, subject_kind, subject_id, reason, extract(epoch FROM at)", "''"),
    "actrequeststep": (f"{_ACTOR}, request_id, kind, agrees, reason, extract(epoch FROM at)", "''"),
    "casefile": (f"{_ACTOR}, title, extract(epoch FROM at)", "''"),
    "caseitem": (f"{_ACTOR}, case_id, session_id, seq, extract(epoch FROM at)", "''"),
    "caseentry": (f"{_ACTOR}, case_id, kind, text, sha256, extract(epoch FROM at)", "''"),
    "legalhold": (
        "session_id, user_id, reason, extract(epoch FROM set_at), set_by_name",
        "coalesce(session_id::text, user_id::text)",
    ),
    "tombstone": ("kind, subject_id, user_id, reason, by_name, extract(epoch FROM started_at)", "''"),
    "erasedsession": (
        "session_id, tombstone_id, last_seq, encode(hash, 'hex'), "
        "extract(epoch FROM at) || CASE acts::text WHEN '[]' THEN '' ELSE chr(31) || acts::text END",
        "''",
    ),
    "recordedend": (
        "coalesce(kind || ' ' || job_id, kind), subject_id, encode(hash || coalesce(error_hash, ''), 'hex'), "
        "extract(epoch FROM at)",
        "erased_with",
    ),
    "artifact": ("app_name, user_id, session_id, filename, version, mime_type, size, sha256", "''"),
}
"""Columns that never change, and the subject with which the row is erased, by table."""
TABLES = ("event", *_RECORDS)
_EVENTS = """
SELECT 'event ' || session_id || ' ' || seq, coalesce(encode(hash, 'hex'), '-') FROM sessions_app_event
WHERE id > %s AND id <= %s ORDER BY session_id, seq"""


def covered_rows(after: Mapping[str, int], upto: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield names and hashes of the rows with keys after `after`, up to `upto`."""
    # The database begins with key 1: a row with a smaller key was added by hand, and belongs to the first root.
    begin = {table: after.get(table, 0) or _LOWEST_KEY for table in TABLES}
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [begin["event"], upto["event"]])
        yield from cursor
        for table, (columns, subject) in _RECORDS.items():
            cursor.execute(
                f"""SELECT '{table} ' || id,
                    encode(sha256(convert_to(jsonb_build_array({columns})::text, 'UTF8')), 'hex') || ' ' || {subject}
                FROM sessions_app_{table} WHERE id > %s AND id <= %s ORDER BY id""",  # noqa: S608 - constants
                [begin[table], upto.get(table, 0)],
            )
            yield from cursor

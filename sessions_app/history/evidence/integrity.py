"""Check of a session's event log against its hash chain.

    hash(0) = SHA-256 of id, app, owner, key and first state of the session
    hash(n) = SHA-256 of hash(n - 1), n, the event's JSON, `before`, and the facts that an event of a user rests on:
        who asked (actor, address, reason of the invocation), and the outcome of the job that answers

Event n has hash(n), computed by a trigger when it is inserted. A changed, removed, moved or inserted event breaks the
chain at its place, and so does a changed fact; `last_seq` and `state` of the session reveal a log cut off at its end.
Somebody with the rights of the owner of the tables can compute all hashes again: signed roots reveal it.

Early logs, whose hashes the processes of the site computed, have hashes by a first rule, of 32 bytes instead of 33:

    chain(n) = SHA-256 of chain(n - 1), the session id, n and the event's JSON; chain(0) is empty
    hash(n)  = SHA-256 of chain(n) and `before`; chain(n) without `before`

`log_hash` of the session is the chain of its last event by this rule. hash(0) of later events of such a log covers the
hash of this event, too.

The outcome of a check is noted in the figures, for the home page of the admin. It is a hint: only the check itself
tells whether a log is as written.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from time import monotonic
from uuid import UUID, uuid4

from django.db.models import QuerySet, TextField
from django.db.models.expressions import RawSQL

from sessions_app.errors import LostPackError
from sessions_app.models import Event, Pack, Session, SessionFigures
from sessions_app.process.replica import reading_connection
from sessions_app.store.packs import read_lines

SESSIONS_PER_QUERY = 200
SECONDS = 60
"""Time of a night for checks: enough for about a million events."""


@dataclass(frozen=True)
class Flaw:
    """The first change in a log.

    Attributes:
        seq: number of the event at which the chain breaks.
        problem: `altered` (the event, or what it rests on), `missing` (one or more events before `seq` are gone),
            `unsealed` (without a hash), `cut off` (events at the end of the log are gone), `lost` (the file
            of a packed session is gone or was changed), or `state` (the state of the session is not that of its
            events).
    """

    session_id: UUID
    seq: int
    problem: str


def flaw_in(session_id: UUID) -> Flaw | None:
    """Return the first flaw of a log; None for an unchanged log."""
    return next(flaws([session_id]), None)


def flaws(session_ids: list[UUID]) -> Iterator[Flaw]:
    """Yield the first flaw of each changed log in the tables, in one query."""
    with reading_connection().cursor() as cursor:
        cursor.execute(_IN_TABLES + _FIRST_FLAWS, {"sessions": session_ids, "packed": False})
        for session_id, seq, problem in cursor.fetchall():
            yield Flaw(session_id, seq, problem)


def flaws_of_packs(session_ids: list[UUID]) -> Iterator[Flaw]:
    """Yield the first flaw of each changed log among those in packs.

    Raises:
        FilesUnavailableError: the storage does not answer.
    """
    for pack in Pack.objects.filter(pk__in=session_ids, session__packed_at__isnull=False).order_by("pk"):
        try:
            lines = read_lines(pack)
        except LostPackError:
            yield Flaw(pack.pk, pack.last_seq, "lost")
            continue
        with reading_connection().cursor() as cursor:
            parameters = {"session": pack.pk, "sessions": [pack.pk], "lines": lines, "packed": True}
            cursor.execute(_IN_PACK + _FIRST_FLAWS, parameters)
            for _, seq, problem in cursor.fetchall():
                yield Flaw(pack.pk, seq, problem)


def changed_ends(session_ids: list[UUID]) -> list[tuple[UUID, str]]:
    """Return session and id of the invocations whose outcome is not the recorded one (`RecordedEnd`).

    An invocation that waits or runs again after its end has the error of this end, or none. Early ends have no
    record, or none of the error alone: a migration, since squashed, brought the records.
    """
    with reading_connection().cursor() as cursor:
        cursor.execute(_CHANGED_ENDS, [session_ids])
        return [(session_id, invocation_id) for session_id, invocation_id in cursor.fetchall()]


def changed_jobs(session_ids: list[UUID]) -> list[tuple[UUID, UUID]]:
    """Return session and id of the ended jobs that are gone, run again, or have another outcome than the recorded one.

    Jobs that ended before the migration that brought the records, since squashed, have none.
    """
    with reading_connection().cursor() as cursor:
        cursor.execute(_CHANGED_JOBS, [session_ids])
        return [(session_id, job_id) for session_id, job_id in cursor.fetchall()]


def changed_liftings() -> list[int]:
    """Return the primary keys of the lifted legal holds whose lifting is not the recorded one."""
    with reading_connection().cursor() as cursor:
        cursor.execute(_CHANGED_LIFTINGS)
        return [pk for (pk,) in cursor.fetchall()]


def check_logs(session_ids: list[UUID]) -> list[Flaw]:
    """Return the first flaw of each changed log in the tables, and note the flaws."""
    return _note(flaws(session_ids), Session.objects.filter(pk__in=session_ids, packed_at=None))


def check_packs(session_ids: list[UUID]) -> list[Flaw]:
    """Do as `check_logs` for the logs in packs.

    Raises:
        FilesUnavailableError: the storage of packs does not answer.
    """
    packed = Session.objects.filter(pk__in=session_ids, packed_at__isnull=False)
    return _note(flaws_of_packs(session_ids), packed)


def _note(found: Iterable[Flaw], sessions: QuerySet[Session]) -> list[Flaw]:
    found = list(found)
    flawed = [flaw.session_id for flaw in found]
    noted = SessionFigures.objects.filter(session__in=sessions, flaw_seq__isnull=False)
    noted.exclude(session__in=flawed).update(flaw_seq=None)
    SessionFigures.objects.bulk_create(
        [SessionFigures(session_id=flaw.session_id, flaw_seq=flaw.seq) for flaw in found],
        update_conflicts=True,
        unique_fields=["session"],
        update_fields=["flaw_seq"],
    )
    return found


def check_some_logs() -> None:
    """Check logs for a minute, from a random session on: after some nights each log was checked."""
    end = monotonic() + SECONDS
    start = uuid4()
    ids = Session.objects.order_by("pk").values_list("pk", flat=True)
    ring = chain(ids.filter(pk__gte=start).iterator(), ids.filter(pk__lt=start).iterator())
    while monotonic() < end:
        batch = list(islice(ring, SESSIONS_PER_QUERY))
        if not batch:
            return
        check_logs(batch)
        check_packs(batch)


def last_hash(session_id: UUID) -> str:
    """Return the hash of the last event in hexadecimal digits; empty without events."""
    hashes = Event.objects.filter(session=session_id).order_by("-seq").values_list("hash", flat=True)
    return bytes(hashes.first() or b"").hex()


HASH_OF_BODIES = RawSQL(
    """(
        SELECT encode(adk_chain_of_log(session_id, seq, body ORDER BY seq), 'hex') FROM sessions_app_event
        WHERE session_id = sessions_app_session.id AND seq <= sessions_app_session.last_seq
    )""",
    (),
    output_field=TextField(),
)
"""Hash over the id of a session and the bodies of its events, in hexadecimal digits.

Unlike the hashes of the events, it covers neither the owner nor rows beside the events: an import computes it again."""

_CHANGED_ENDS = """
SELECT i.session_id, i.invocation_id FROM sessions_app_invocation i
CROSS JOIN LATERAL (
    SELECT hash, error_hash FROM sessions_app_recordedend
    WHERE erased_with = i.session_id::text AND kind = 'invocation' AND subject_id = i.id ORDER BY id DESC LIMIT 1
) recorded
WHERE i.session_id = ANY(%s) AND CASE
    WHEN i.status IN ('completed', 'failed', 'cancelled') THEN recorded.hash <> adk_hash_of_end(i)
    ELSE i.error_code || i.error_message <> '' AND recorded.error_hash <> adk_hash_of_error(i)
END
ORDER BY i.session_id, i.id"""
_CHANGED_JOBS = """
SELECT s.id, recorded.job_id FROM unnest(%s::uuid[]) s(id)
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (job_id) job_id, hash FROM sessions_app_recordedend
    WHERE erased_with = s.id::text AND kind = 'tooljob' ORDER BY job_id, id DESC
) recorded
LEFT JOIN sessions_app_tooljob j ON j.id = recorded.job_id AND j.session_id = s.id
WHERE j.id IS NULL OR recorded.hash <> adk_hash_of_job(j)
ORDER BY s.id, recorded.job_id"""
_CHANGED_LIFTINGS = """
SELECT h.id FROM sessions_app_legalhold h JOIN sessions_app_recordedend recorded
    ON recorded.erased_with = coalesce(h.session_id::text, h.user_id::text) AND kind = 'legalhold' AND subject_id = h.id
WHERE h.lifted_at IS NULL OR recorded.hash <> adk_hash_of_lifting(h) ORDER BY h.id"""
# One pass over each log. At the same `seq` an event's own flaw comes first: it says more.
_IN_TABLES = """
WITH stored AS NOT MATERIALIZED (SELECT session_id, seq, body, before, hash FROM sessions_app_event),"""
_IN_PACK = """
WITH stored AS MATERIALIZED (
    SELECT %(session)s::uuid AS session_id, seq, event -> 1 AS body, nullif(event -> 2, 'null') AS before,
        decode(event ->> 4, 'hex') AS hash
    FROM (SELECT line::jsonb AS event, seq FROM unnest(%(lines)s::text[]) WITH ORDINALITY given (line, seq)) parsed
),"""
_FIRST_FLAWS = """
log AS (
    SELECT e.session_id, e.seq, e.body, e.before, e.hash, lag(e.seq) OVER w AS previous_seq,
        lag(e.hash) OVER w AS previous,
        CASE octet_length(e.hash) WHEN 32 THEN
            adk_chain_of_log(e.session_id, e.seq, e.body) FILTER (WHERE octet_length(e.hash) = 32) OVER w
        END AS old_chain
    FROM stored e WHERE e.session_id = ANY(%(sessions)s)
    WINDOW w AS (PARTITION BY e.session_id ORDER BY e.seq)
), checked AS (
    SELECT session_id, seq, CASE
        WHEN seq - coalesce(previous_seq, 0) <> 1 THEN 'missing'
        WHEN hash IS NULL THEN 'unsealed'
        WHEN octet_length(hash) = 32 THEN
            CASE WHEN octet_length(previous) = 33 OR hash <> adk_event_hash(old_chain, before) THEN 'altered' END
        WHEN hash <> adk_event_link(
            CASE octet_length(previous) WHEN 33 THEN previous ELSE adk_first_link(session_id, previous) END,
            seq, body, before, adk_facts(session_id, body)
        ) THEN 'altered'
    END AS problem
    FROM log
), ends AS (
    SELECT s.id AS session_id, s.last_seq, s.log_hash, s.state, s.initial_state, last.seq AS seq, last.hash,
        first.hash AS first_hash
    FROM sessions_app_session s
    LEFT JOIN LATERAL (
        SELECT seq, hash FROM stored WHERE session_id = s.id ORDER BY seq DESC LIMIT 1
    ) last ON true
    LEFT JOIN stored first ON first.session_id = s.id AND first.seq = 1
    WHERE s.id = ANY(%(sessions)s) AND (s.packed_at IS NOT NULL) = %(packed)s
), found AS (
    SELECT session_id, seq, problem FROM checked WHERE problem IS NOT NULL
    UNION ALL
    SELECT session_id, last_seq, 'cut off' FROM ends
    WHERE last_seq <> coalesce(seq, 0) OR (hash IS NULL OR octet_length(hash) = 32) AND log_hash <> coalesce((
        SELECT adk_chain_of_log(e.session_id, e.seq, e.body ORDER BY e.seq)
        FROM stored e WHERE e.session_id = ends.session_id
    ), '')
    UNION ALL
    SELECT session_id, last_seq, 'state' FROM ends
    WHERE octet_length(first_hash) = 33 AND state <> initial_state || (
        SELECT coalesce(jsonb_object_agg(d.key, d.value ORDER BY e.seq), '{}')
        FROM stored e, jsonb_each(
            CASE jsonb_typeof(e.body #> '{actions,stateDelta}') WHEN 'object' THEN e.body #> '{actions,stateDelta}' END
        ) d
        WHERE e.session_id = ends.session_id AND NOT d.key ^@ ANY('{app:,user:,temp:}')
    )
)
SELECT DISTINCT ON (session_id) session_id, seq, problem FROM found
ORDER BY session_id, seq, problem IN ('cut off', 'state'), problem"""

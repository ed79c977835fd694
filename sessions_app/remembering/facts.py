"""Facts about users, taken from ended conversations by the app's model (`ADK["remember_facts"]`), outside of any turn.

The sweep finds sessions without an event for `remember_after_seconds` and claims them, one at a time of each user and
app. A Celery worker then asks the model about the events that were not considered yet:

    due        `last_seq` is beyond `RememberedSession.seq`, nothing runs
      | claim, until which no other worker asks
      | one request to the model; its use is counted for the user
      | one transaction: facts, facts that they replace, `seq`; nothing if another worker was faster
    considered

A process that dies leaves the claim, which ends by itself; then the same events are considered once more, and nothing
was stored of them. What is rewound, erased or said in a pause in the meantime is not stored.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from sessions_app.agent_apps.registry import first_model, get_app
from sessions_app.base.statuses import InvocationStatus
from sessions_app.conf import conf
from sessions_app.history.costs import cost_of, tokens_of
from sessions_app.history.event_marks import SCHEDULED
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import (
    Event,
    Invocation,
    MemoryEntry,
    MemoryPause,
    PersonUsage,
    RememberedSession,
    Session,
)
from sessions_app.models.memory import MemoryEntryQuerySet
from sessions_app.models.remembering import is_in_pause
from sessions_app.process.celery_dispatch import request_facts
from sessions_app.process.threads import create_task, in_thread
from sessions_app.remembering.fact_request import (
    USER,
    Fact,
    Line,
    allowed_facts,
    ask_for_facts,
    own_words,
    request_for_facts,
)
from sessions_app.store.memory_service import as_words, withdraw_entries
from sessions_app.store.packs import open_pack
from sessions_app.store.sql.usage import Used, add_used

logger = logging.getLogger(__name__)
LOOK_BACK = timedelta(days=2)
"""Age after which an ended session is left alone: those before the setting was switched on cost nothing."""
CLAIM = timedelta(seconds=120)
CALL_SECONDS = 60.0
MAX_ATTEMPTS = 3
"""Requests without an answer, after which the session is left alone until it has new events."""
SESSIONS_AT_ONCE = 20
MAX_EVENTS = 200
MAX_ANSWER_LENGTH = 2_000
MAX_KNOWN = 100
"""Known facts in a request, the newest."""


@dataclass
class Material:
    """The parts of a request to the model.

    Attributes:
        after: `seq` of the last event that was considered before.
        until: `seq` of the last event of the request.
        lines: texts by the `seq` of their events.
        known: facts about the user.
    """

    session: Session
    after: int
    until: int
    lines: dict[int, Line] = field(default_factory=dict)
    known: list[MemoryEntry] = field(default_factory=list)


def offer_ended_sessions(seconds: float) -> bool:
    """Claim ended sessions with new events, and send them to workers. True if there may be more."""
    claimed = _claim_due()
    for session_pk in claimed:
        request_facts(session_pk)
    return len(claimed) == SESSIONS_AT_ONCE


async def start(session_pk: UUID) -> None:
    """Start to consider a session on this event loop."""
    create_task(consider(session_pk), f"take facts of session {session_pk}")


async def consider(session_pk: UUID) -> None:
    """Take facts from the new events of a session. A failure is logged, and the sweep tries again."""
    try:
        material = await in_thread(_read, session_pk)
        if material is None:
            return
        facts: Sequence[Fact] = ()
        model = first_model(get_app(material.session.app_name))
        if model is not None and any(line.speaker == USER for line in material.lines.values()):
            request = request_for_facts(material.lines, [_text(fact) for fact in material.known])
            async with asyncio.timeout(CALL_SECONDS):
                facts, response = await ask_for_facts(model, request)
            used = Used(tokens_of(response), cost_of(response, conf()))
            await add_used(session_pk, used)
            await in_thread(_count, session_pk, used)
        await in_thread(_store, material, facts)
    except Exception:  # the claim ends by itself, and the sweep sends the session again
        logger.exception(
            "No facts were taken from session %s", session_pk, extra={"session_id": str(session_pk)}
        )


def withdraw_rewound_facts(session_pk: UUID) -> None:
    """Withdraw the facts whose events are not in effect any more."""
    facts = MemoryEntry.objects.filter(session=session_pk).facts()
    if facts.exists():
        effective = Event.objects.filter(find_rewinds(session_pk).in_effect, session=session_pk)
        kept = effective.filter(event_id__in=facts.values("source_event_id"))
        withdraw_entries(facts.exclude(source_event_id__in=list(kept.values_list("event_id", flat=True))))


def _due() -> QuerySet[Session]:
    """Return sessions with events to consider, the longest unused first."""
    ended = Q(pk__in=())
    site = conf()
    of_apps = [(site.of_app(name), Q(app_name=name)) for name in site.apps]
    for settings, are_theirs in [*of_apps, (site, ~Q(app_name__in=site.apps))]:
        if settings.remember_facts:
            idle = timedelta(seconds=settings.remember_after_seconds)
            ended |= are_theirs & Q(last_event_at__lt=timezone.now() - idle)
    active = Invocation.objects.filter(session=OuterRef("pk"), status__in=InvocationStatus.active())
    # `updated_at`, which has an index, is at most a minute behind `last_event_at`.
    recent = Session.objects.filter(ended, updated_at__gt=timezone.now() - LOOK_BACK, deleted_at=None)
    unconsidered = recent.annotate(considered=Coalesce("remembered__seq", 0)).filter(
        last_seq__gt=F("considered")
    )
    is_free = Q(remembered=None) | Q(remembered__claimed_until=None) | Q(remembered__claimed_until__lte=Now())
    is_changed = Q(remembered__claimed_until__lt=F("updated_at"))
    has_tries = Q(remembered=None) | Q(remembered__attempts__lt=MAX_ATTEMPTS) | is_changed
    waiting = unconsidered.filter(is_free, has_tries, ~Exists(active))
    return waiting.exclude(user__in=PersonUsage.objects.at_their_limit().values("user")).order_by(
        "updated_at"
    )


def _claim_due() -> list[UUID]:
    if not any(conf().by_app("remember_facts").values()):
        return []
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Sweeps may overlap: two sessions of a user at once would not know of each other's facts.
            cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext('adk:facts'))")
            if not cursor.fetchone()[0]:
                return []
        claimed = RememberedSession.objects.filter(claimed_until__gt=Now())
        taken = set(claimed.values_list("session__user", "session__app_name"))
        pks = []
        for pk, user_pk, app_name in _due().values_list("pk", "user", "app_name")[:SESSIONS_AT_ONCE]:
            if (user_pk, app_name) not in taken:
                taken.add((user_pk, app_name))
                pks.append(pk)
        rows = [RememberedSession(session_id=pk) for pk in pks]
        RememberedSession.objects.bulk_create(rows, ignore_conflicts=True)
        RememberedSession.objects.filter(session__in=pks).update(
            claimed_until=Now() + CLAIM, attempts=F("attempts") + 1
        )
    return pks


def _read(session_pk: UUID) -> Material | None:
    """Return what was said since the session was considered; None if it is gone, or the app remembers no facts."""
    session = Session.objects.filter(pk=session_pk, deleted_at=None).first()
    progress = RememberedSession.objects.filter(session=session_pk).first()
    if session is None or progress is None or not conf().of_app(session.app_name).remember_facts:
        return None
    open_pack(session)  # with a small `pack_days` and a user who had reached a limit
    after = progress.seq
    texts = session.events.after(after).exclude(text=None).exclude(text="")
    effective = texts.filter(find_rewinds(session_pk).in_effect, seq__lte=session.last_seq)
    columns = ("seq", "author", "text", "happened_at", f"body__customMetadata__{SCHEDULED}")
    rows = list(effective.values_list(*columns)[:MAX_EVENTS])
    until = rows[-1][0] if len(rows) == MAX_EVENTS else session.last_seq
    material = Material(session, after, until)
    pauses = list(MemoryPause.objects.filter(user=session.user_id))
    for seq, author, text, happened_at, schedule in rows:
        if author == USER:
            # A scheduled task's message is an agent's: nobody has said it.
            said = "" if schedule else own_words(text)
        else:
            said = text[:MAX_ANSWER_LENGTH]
        if said and not is_in_pause(happened_at or timezone.now(), pauses):
            material.lines[seq] = Line(author, said)
    material.known = list(_facts_of(session).order_by("-said_at", "-pk")[:MAX_KNOWN])
    return material


def _facts_of(session: Session) -> MemoryEntryQuerySet:
    return MemoryEntry.objects.of(session.app_name, session.user_id).facts()


def _text(fact: MemoryEntry) -> str:
    return "".join(part["text"] for part in fact.content["parts"])


def _count(session_pk: UUID, used: Used) -> None:
    row = RememberedSession.objects.filter(session=session_pk)
    row.update(tokens=F("tokens") + used.tokens, cost=F("cost") + used.cost)


def _store(material: Material, facts: Sequence[Fact]) -> None:
    """Store the facts, and that the events are considered."""
    session = material.session
    settings = conf().of_app(session.app_name)
    with transaction.atomic():
        # Locked: a rewind or an erasure waits, and then withdraws the facts.
        stored = Session.objects.filter(pk=session.pk, deleted_at=None).select_for_update(no_key=True)
        progress = RememberedSession.objects.filter(session__in=stored, seq=material.after)
        if not stored.exists() or not progress.exists():
            return
        sources = _sources(session, material.lines)
        for fact in allowed_facts(facts, material.lines, with_special=settings.remember_special_categories):
            if fact.event in sources:
                _add(material, fact, *sources[fact.event])
        too_many = _facts_of(session).order_by("-said_at", "-pk")[settings.max_facts_per_user :]
        withdraw_entries(MemoryEntry.objects.filter(pk__in=list(too_many.values_list("pk", flat=True))))
        RememberedSession.objects.filter(session=session.pk).update(
            seq=material.until, claimed_until=None, attempts=0
        )


def _sources(session: Session, lines: Mapping[int, Line]) -> dict[int, tuple[str, datetime]]:
    """Return id and time of the events that are still in effect, by `seq`."""
    events = session.events.filter(find_rewinds(session.pk).in_effect, seq__in=list(lines))
    rows = events.values_list("seq", "event_id", "happened_at")
    return {seq: (event_id, at or timezone.now()) for seq, event_id, at in rows if event_id}


def _add(material: Material, fact: Fact, event_id: str, said_at: datetime) -> None:
    """Store a fact in the place of those that it repeats or corrects."""
    session = material.session
    words = as_words(fact.text)
    numbers = {number - 1 for number in fact.replaces}
    replaced = [known.pk for place, known in enumerate(material.known) if place in numbers]
    withdraw_entries(_facts_of(session).filter(Q(pk__in=replaced) | Q(words=words)))
    MemoryEntry.objects.create(
        app_name=session.app_name,
        user_id=session.user_id,
        session=session,
        event_id=f"fact-{uuid4().hex}",
        source_event_id=event_id[:255],
        author=USER,
        said_at=said_at,
        content={"role": "user", "parts": [{"text": fact.text}]},
        words=words,
    )

"""Batches of sessions for the figures: found, counted and stored in one transaction each, with the words of events.

The figures of a session have the `seq` of the last counted event, and a batch adds its amounts to the days in the same
transaction. So each event counts once, even if a process is killed. A batch takes the sessions in this order:

    1. changed:   used since `FiguresProgress.newest`, with uncounted events
    2. unsettled: an invocation runs, or a long log is not counted to its end
    3. earlier:   used before `FiguresProgress.oldest`, only when there are none of the others

The third part goes backwards through all sessions, at first and again every night (`recount_all_sessions`). A batch
locks the row of `FiguresProgress`, so a second sweep at the same time counts nothing.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import groupby
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from sessions_app.conf import Conf, conf
from sessions_app.history.figures import log_facts
from sessions_app.history.figures.days import BatchAmounts, add_amounts, bucket_of, local_day
from sessions_app.history.figures.event_words import store_words
from sessions_app.history.figures.log_facts import LogFacts, uncounted_facts
from sessions_app.models import (
    DayMetric,
    Failure,
    FiguresProgress,
    Invocation,
    InvocationStatus,
    Session,
    SessionFigures,
)
from sessions_app.models.figures import AGENT, MAX_LABELS, OUTCOME, TOOL, label, names_of
from sessions_app.models.scheduled_task import END_OF_CALENDAR

BATCH_SIZE = 200
LOOK_BACK = timedelta(minutes=5)
"""Bound on the sum of: difference of clocks, duration of an append, and delay of `Session.updated_at` (a minute)."""
PAUSE = timedelta(seconds=4)
"""Shortest time between two counts of a session with a running invocation."""
_COUNTED = ["seq", "words_seq", "tokens", "cost", "errors", "seconds", "labels", "outcomes", "invocation_id",
            "began_at", "has_word", "is_settled", "counted_at"]  # fmt: skip
Outcomes = dict[tuple[str, str], tuple[int, float]]
"""Number and runtime of invocations by day, as ISO text, and status."""


class SessionCounter:
    """Adds the facts and invocations of a session to its figures and to the amounts of days."""

    def __init__(self, session: Session, figures: SessionFigures, amounts: BatchAmounts, conf: Conf) -> None:
        self._session = session
        self._figures = figures
        self._amounts = amounts
        self._conf = conf

    def add_events(self, events: Iterable[LogFacts]) -> None:
        """Add uncounted events, oldest first."""
        # A dict keeps the order: beyond `MAX_LABELS` the earliest labels stay.
        labels = dict.fromkeys(self._figures.labels)
        for event in events:
            self._figures.seq = event.seq
            day = local_day(event.at or timezone.now())
            self._add_usage(event, day)
            self._add_first_word(event, day)
            self._add_answers(event, day)
            if event.author != "user":
                labels[label(AGENT, event.author)] = None
            labels.update(dict.fromkeys(label(TOOL, name) for name in event.answers))
            if event.is_message_of_person:
                self._amounts.active.add((day, self._session.user_id))
        self._figures.labels = [*labels][:MAX_LABELS]

    def set_outcomes(self, outcomes: Outcomes) -> None:
        """Set the current outcomes of the session's invocations, and add the difference to the days."""
        # A retry moves an invocation from one outcome to another, so the difference may be negative.
        counted = Counter(self._figures.outcomes)
        now = Counter({f"{day} {status}": number for (day, status), (number, _) in outcomes.items()})
        for key in counted.keys() | now.keys():
            day, _, status = key.partition(" ")
            self._add(date.fromisoformat(day), DayMetric.INVOCATIONS, status, now[key] - counted[key])
        self._figures.outcomes = dict(now)
        self._figures.seconds = sum(seconds for _, seconds in outcomes.values())
        others = [name for name in self._figures.labels if not names_of(OUTCOME, [name])]
        self._figures.labels = others + sorted({label(OUTCOME, status) for _, status in outcomes})

    def _add_usage(self, event: LogFacts, day: date) -> None:
        if not event.usage:
            return
        tokens = event.usage.prompt + event.usage.thoughts + event.usage.output
        cost = event.usage.cost(event.model, self._conf) or 0.0
        self._figures.tokens += tokens
        self._figures.cost += cost
        self._add(day, DayMetric.TOKENS, event.author, tokens, event.model)
        self._add(day, DayMetric.COST, event.author, cost, event.model)

    def _add_first_word(self, event: LogFacts, day: date) -> None:
        figures = self._figures
        # Only an invocation that begins with a message of the person is timed: nobody waits for the others.
        if event.invocation_id != figures.invocation_id:
            figures.invocation_id = event.invocation_id
            figures.began_at = event.at
            figures.has_word = not event.is_message_of_person
        elif event.has_text and event.author != "user" and not figures.has_word:
            figures.has_word = True
            if event.at and figures.began_at:
                seconds = (event.at - figures.began_at).total_seconds()
                self._add(day, DayMetric.FIRST_WORD, bucket_of(seconds), 1)

    def _add_answers(self, event: LogFacts, day: date) -> None:
        for name in event.answers:
            self._add(day, DayMetric.CALLS, name, 1)
        for name in event.rejections:
            self._add(day, DayMetric.REJECTIONS, name, 1)
        for failure in event.failures:
            self._figures.errors += 1
            self._add(day, DayMetric.FAILURES, failure.tool_name, 1)
            names = {"tool_name": failure.tool_name, "cause": failure.cause}
            self._amounts.failures.append(Failure(session=self._session, seq=event.seq, day=day, **names))

    def _add(self, day: date, metric: DayMetric, name: str, amount: float, detail: str = "") -> None:
        if amount:
            self._amounts.days[day, self._session.app_name, metric, name, detail] += amount  # type: ignore[assignment]


def count_figures(seconds: float) -> bool:
    """Count new events for about `seconds`. Return True if there may be more."""
    end = time.monotonic() + seconds
    while _count_batch():
        if time.monotonic() >= end:
            return True
    return False


def count_new_sessions(ids: Sequence[UUID]) -> None:
    """Count all events of sessions that the transaction of the caller has made: no other process sees them yet."""
    amounts = BatchAmounts()
    for start in range(0, len(ids), BATCH_SIZE):
        _count(ids[start : start + BATCH_SIZE], amounts)
    # At the end: processes that make sessions at the same time add to the same days.
    add_amounts(amounts)


def recount_all_sessions() -> None:
    """Let the next sweeps look at all sessions."""
    # An imported session keeps its old `updated_at`, which is before `newest`: no other sweep would look at it.
    FiguresProgress.objects.update(oldest=timezone.now())


def _count_batch() -> bool:
    """Count a batch; return False if nothing is left, or another process counts."""
    start = timezone.now() - LOOK_BACK
    FiguresProgress.objects.get_or_create(pk=1, defaults={"newest": start, "oldest": start})
    with transaction.atomic():
        # Skip instead of waiting: the process with the lock counts the same sessions.
        progress = FiguresProgress.objects.select_for_update(skip_locked=True).filter(pk=1).first()
        if progress is None:
            return False
        if progress.words_newest != progress.newest:
            progress.oldest = timezone.now()
        ids = {*_changed(progress), *_unsettled()}
        is_looking_back = not ids and progress.oldest is not None
        if is_looking_back:
            ids = {*_earlier(progress)}
        if ids:
            amounts = BatchAmounts()
            _count(ids, amounts)
            add_amounts(amounts)
        progress.words_newest = progress.newest
        progress.save()
    return bool(ids) or is_looking_back


def _changed(progress: FiguresProgress) -> list[UUID]:
    """Return recently used sessions with uncounted events, the least recently used first, and note the progress."""
    # Python cannot read times after the end of its calendar, which PostgreSQL stores.
    recent = Session.objects.filter(updated_at__gte=progress.newest, updated_at__lt=END_OF_CALENDAR)
    changed = _with_uncounted_events(recent).order_by("updated_at")
    found = list(changed.values_list("pk", "updated_at")[:BATCH_SIZE])
    until = timezone.now() - LOOK_BACK
    # More sessions may wait: the next batch continues at the last session of this batch.
    if len(found) == BATCH_SIZE:
        until = min(until, found[-1][1])
    progress.newest = max(progress.newest, until)
    return [pk for pk, _ in found]


def _unsettled() -> QuerySet[SessionFigures, UUID]:
    waiting = SessionFigures.objects.filter(is_settled=False, counted_at__lt=timezone.now() - PAUSE)
    return waiting.order_by("counted_at").values_list("pk", flat=True)[:BATCH_SIZE]


def _earlier(progress: FiguresProgress) -> list[UUID]:
    """Return the sessions with uncounted events in the next batch of earlier sessions, and note the progress."""
    earlier = Session.objects.filter(updated_at__lt=progress.oldest)
    times = earlier.order_by("-updated_at").values_list("updated_at", flat=True)
    # The progress is a time, so all sessions of the same time must be in the same batch.
    first = times[BATCH_SIZE - 1 : BATCH_SIZE].first()
    if first is not None:
        earlier = earlier.filter(updated_at__gte=first)
    progress.oldest = first
    return list(_with_uncounted_events(earlier).values_list("pk", flat=True))


def _with_uncounted_events(sessions: QuerySet[Session]) -> QuerySet[Session]:
    is_behind = Q(figures__seq__lt=F("last_seq")) | Q(figures__words_seq__lt=F("last_seq"))
    return sessions.filter(Q(figures=None) | Q(is_behind, figures__is_settled=True))


def _count(ids: Iterable[UUID], amounts: BatchAmounts) -> None:
    """Count the uncounted events of the sessions, and the current outcomes of their invocations."""
    SessionFigures.objects.bulk_create([SessionFigures(session_id=pk) for pk in ids], ignore_conflicts=True)
    # Before the events: the log of an invocation that has ended here is complete when the events are read.
    outcomes, active = _invocations_of(ids)
    rows = Session.objects.filter(pk__in=list(ids)).select_related("figures")
    sessions = list(rows.only("app_name", "user_id", "last_seq", "figures"))
    facts = uncounted_facts(ids)
    is_all = len(facts) < log_facts.MAX_EVENTS
    words, has_all_words = store_words(ids, log_facts.MAX_EVENTS)
    events = {pk: list(group) for pk, group in groupby(facts, lambda event: event.session_id)}
    for session in sessions:
        counter = SessionCounter(session, session.figures, amounts, conf())
        counter.add_events(events.get(session.pk, ()))
        counter.set_outcomes(outcomes[session.pk])
        session.figures.words_seq = words.get(session.pk, session.figures.words_seq)
        is_counted = is_all or session.figures.seq >= session.last_seq
        has_words = has_all_words or session.figures.words_seq >= session.last_seq
        is_done = is_counted and has_words
        session.figures.is_settled = is_done and session.pk not in active
        session.figures.counted_at = timezone.now()
        if not is_done:  # The session is due again in the next batch, without the pause.
            session.figures.counted_at -= PAUSE
    # An upsert: Django's `bulk_update` takes seconds for a batch.
    SessionFigures.objects.bulk_create(
        [session.figures for session in sessions],
        update_conflicts=True,
        unique_fields=["session"],
        update_fields=_COUNTED,
    )


def _invocations_of(ids: Iterable[UUID]) -> tuple[defaultdict[UUID, Outcomes], set[UUID]]:
    """Return the outcomes of each session's invocations, and the sessions with an active invocation."""
    outcomes: defaultdict[UUID, Outcomes] = defaultdict(dict)
    active = set()
    day = TruncDate("created_at", tzinfo=timezone.get_default_timezone())
    rows = Invocation.objects.filter(session__in=list(ids)).values_list("session_id", day, "status")
    runtime = Sum(F("finished_at") - F("started_at"))
    for session_id, created, status, number, took in rows.annotate(number=Count("pk"), took=runtime):
        if status in InvocationStatus.active():
            active.add(session_id)
        else:
            seconds = took.total_seconds() if took else 0.0
            outcomes[session_id][created.isoformat(), status] = number, seconds
    return outcomes, active

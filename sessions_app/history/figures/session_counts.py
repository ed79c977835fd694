"""Counts of a session: facts of its events become its figures and amounts of days."""

from collections import Counter
from collections.abc import Iterable
from datetime import date

from django.utils import timezone

from sessions_app.conf import Conf
from sessions_app.history.figures.days import BatchAmounts, bucket_of, local_day
from sessions_app.history.figures.log_facts import LogFacts
from sessions_app.models import DayMetric, Failure, Session, SessionFigures
from sessions_app.models.figures import AGENT, MAX_LABELS, OUTCOME, TOOL, label, names_of

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

"""Sums over the events of a session, and over the events of each of its invocations."""

from dataclasses import dataclass

from django.db.models import Count, Max, Min, Sum
from django.utils.translation import gettext_lazy as _

from sessions_app.base import client_ids
from sessions_app.models import Invocation
from sessions_app.models.event import EventQuerySet
from sessions_app.rendering.audit_values import elapsed_time

BEGINNINGS = {
    client_ids.ANSWER: _("an answer"),
    client_ids.JOB: _("the result of a job"),
    client_ids.RETRY: _("a retry"),
    client_ids.SCHEDULE: _("a scheduled task"),
}


@dataclass(frozen=True)
class Totals:
    """Sums over a set of events."""

    events: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    first_seq: int | None = None

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(
            self.events + other.events,
            self.prompt_tokens + other.prompt_tokens,
            self.output_tokens + other.output_tokens,
            min((seq for seq in (self.first_seq, other.first_seq) if seq is not None), default=None),
        )


@dataclass(frozen=True)
class InvocationView:
    """An invocation and the totals of its events."""

    invocation: Invocation
    totals: Totals

    @property
    def begun_by(self) -> str:
        """The reason for the invocation in words, such as "a retry"; empty for a message of the person."""
        # Client ids of the site begin with the reason for the invocation; ids of browsers and programs do not.
        prefix = self.invocation.client_id.partition(":")[0] + ":"
        return str(BEGINNINGS.get(prefix, ""))

    @property
    def runtime(self) -> str | None:
        """Time from the start to the end, or until now; None before the start."""
        return elapsed_time(self.invocation.started_at, self.invocation.finished_at)


@dataclass(frozen=True)
class SessionTotals:
    """Totals of a session and of each of its invocations."""

    of_session: Totals
    last_seq: int
    authors: list[str]
    by_invocation: dict[str, Totals]

    def view_of(self, invocation: Invocation) -> InvocationView:
        return InvocationView(invocation, self.by_invocation.get(invocation.invocation_id, Totals()))


def load_totals(events: EventQuerySet) -> SessionTotals:
    """Add up the events of a session, in one query."""
    # By author as well: the same pass over the log gives the authors for the filter of the page.
    groups = list(
        events.order_by()
        .values("invocation_id", "author")
        .annotate(
            events=Count("*"),
            prompt_tokens=Sum("prompt_tokens", default=0),
            output_tokens=Sum("output_tokens", default=0),
            first_seq=Min("seq"),
            last_seq=Max("seq"),
        )
    )
    by_invocation: dict[str, Totals] = {}
    for group in groups:
        part = Totals(group["events"], group["prompt_tokens"], group["output_tokens"], group["first_seq"])
        name = group["invocation_id"] or ""
        by_invocation[name] = by_invocation.get(name, Totals()) + part
    return SessionTotals(
        of_session=sum(by_invocation.values(), Totals()),
        last_seq=max((group["last_seq"] for group in groups), default=0),
        authors=sorted({group["author"] for group in groups if group["author"]}),
        by_invocation=by_invocation,
    )

"""A person's allowances for the rest of a session: their list, and the withdrawal of one (contract T7)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter

from django.db.models import JSONField
from django.db.models.expressions import RawSQL

from runtime.context import new_invocation_id
from runtime.events.allowances import ToolOfAgent, find_allowances, withdrawal_of
from runtime.events.summaries import session_allowances
from runtime.sessions import GetSessionConfig
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.base.codec import event_to_show
from sessions_app.errors import NotFoundError
from sessions_app.history.rewinds import find_rewinds
from sessions_app.live.process import live
from sessions_app.live.publish import publish_committed
from sessions_app.models import Event, Session
from sessions_app.sessions.ownership import User
from sessions_app.store.session_service import CommittedEvent, DjangoSessionService, Writer

OFFERS = """
    SELECT jsonb_agg(offer.body)
    FROM jsonb_path_query(sessions_app_event.body, '$.content.parts[*].functionResponse.id') AS answered (id),
        LATERAL (
            SELECT body FROM sessions_app_event AS asked
            WHERE asked.session_id = sessions_app_event.session_id AND asked.seq < sessions_app_event.seq
                AND jsonb_exists(asked.body -> 'longRunningToolIds', answered.id #>> '{}')
            ORDER BY asked.seq DESC LIMIT 1
        ) AS offer
"""
"""Bodies of the events with the questions that an event answers. An answer is near its question."""


@dataclass(frozen=True)
class Allowance:
    """A tool that an agent calls without a question in a session."""

    session: Session
    subject: ToolOfAgent
    given_at: datetime


def allowances_of(user: User) -> list[Allowance]:
    """Return the allowances that the user has given and not withdrawn, newest first."""
    rows = Event.objects.changing_allowances().filter(session__in=Session.objects.owned_by(user))
    rows = rows.annotate(offers=RawSQL(OFFERS, [], output_field=JSONField()))  # noqa: S611 (no value is inserted)
    rows = rows.select_related("session").only("seq", "body", "session__title", "session__app_name")
    found = []
    for session, changes in groupby(rows.order_by("session", "seq"), attrgetter("session")):
        rewinds = find_rewinds(session.pk)
        bodies = []
        for row in changes:
            if not rewinds.is_undone(row.seq, row.body):
                bodies += [*(vars(row)["offers"] or ()), row.body]
        for subject, given_at in find_allowances(map(event_to_show, bodies)).items():
            found.append(Allowance(session, subject, datetime.fromtimestamp(given_at, UTC)))
    return sorted(found, key=attrgetter("given_at"), reverse=True)


async def withdraw(session: Session, agent: str, tool: str, by: Actor) -> None:
    """Append the event of the withdrawal. A running invocation reads this event with its next append.

    Raises:
        NotFoundError: the session has no such allowance, or was deleted.
    """

    def publish(committed: CommittedEvent) -> None:
        publish_committed(live().hub, committed)

    subject = ToolOfAgent(agent=agent, tool=tool)
    act = Act(by, ActionKind.WITHDRAW, ("tool", tool))
    # Without a lease: the event has no content, and the withdrawal must not wait for a running invocation.
    service = DjangoSessionService(Writer(act=act, on_commit=publish))
    loaded = await service.get_session(
        **session.runtime_args,
        config=GetSessionConfig(without_superseded=True),
    )
    if loaded is None or subject not in session_allowances(loaded.events):
        raise NotFoundError("This is not allowed in this chat any more: the agent asks you before each call.")
    await service.append_event(loaded, withdrawal_of(subject, new_invocation_id()))

"""Withdrawal of a person's allowance for the rest of a session (contract T7)."""

from __future__ import annotations

from runtime.context import new_invocation_id
from runtime.events.allowances import ToolOfAgent, withdrawal_of
from runtime.events.summaries import session_allowances
from runtime.sessions import GetSessionConfig
from sessions_app.base.actors import Act, ActionKind, Actor
from sessions_app.errors import NotFoundError
from sessions_app.live.process import live
from sessions_app.live.publish import publish_committed
from sessions_app.models import Session
from sessions_app.store.session_service import CommittedEvent, DjangoSessionService, Writer


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

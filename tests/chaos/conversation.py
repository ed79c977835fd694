"""A session's rows in the database, and the derived facts that the checks use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from runtime.events import Event
from runtime.events.calls import REQUEST_CONFIRMATION, call_ids
from runtime.events.rewound import drop_rewound, effective_path_of
from sessions_app.base.client_ids import SCHEDULE
from sessions_app.history.event_marks import scheduled_task_in
from sessions_app.models import Event as Row
from sessions_app.models import Invocation, ScheduledTask, Session, ToolJob
from tests.chaos.flow_site.agents import app as flow
from tests.fakes import pending_calls

OF_A2A = "a2a:"
"""Beginning of client ids that the site makes of a program's own, which is at the end of the message."""


@dataclass(frozen=True)
class Conversation:
    """All rows of a session; `events` are the decoded bodies of `rows`."""

    session: Session
    rows: list[Row]
    events: list[Event]
    invocations: list[Invocation]
    jobs: list[ToolJob]
    tasks: list[ScheduledTask]

    @classmethod
    def load(cls, session: Session) -> Conversation:
        """Read the session's rows."""
        rows = list(session.events.order_by("seq"))
        invocations = list(session.invocations.order_by("pk"))
        for invocation in invocations:
            if invocation.client_id.startswith(OF_A2A):
                invocation.client_id = invocation.message["parts"][-1]["text"].split(" ")[-1]
        return cls(
            session,
            rows,
            [Event.model_validate(row.body) for row in rows],
            invocations,
            list(session.jobs.order_by("created_at")),
            list(session.scheduled_tasks.order_by("pk")),
        )

    @property
    def is_flow(self) -> bool:
        """True if the session's agent is the workflow."""
        return self.session.app_name == flow.name

    @cached_property
    def current(self) -> list[Event]:
        """The events that no rewind removed."""
        return drop_rewound(self.events)

    def versions(self) -> Iterator[list[Event]]:
        """Yield the current events as they were before each rewind, and as they are now."""
        for index, event in enumerate(self.events):
            if event.actions.rewind_before_invocation_id is not None:
                yield drop_rewound(self.events[:index])
        yield self.current

    @cached_property
    def waiting(self) -> set[str]:
        """Ids of the invocations with a call that waits for an outside answer, according to the log."""
        pending = pending_calls(self.current).keys()
        return {event.invocation_id for event in self.current if pending & call_ids(event)}

    @cached_property
    def calls(self) -> set[str]:
        """Ids of the current calls."""
        return {call_id for event in self.current for call_id in call_ids(event)}

    @cached_property
    def rewound(self) -> set[str]:
        """Ids of the invocations that a rewind removed, those included that a later one brought back."""
        undone = [span for step in effective_path_of(self.events).steps for span in step.undone]
        return {self.events[position].invocation_id for span in undone for position in span}

    def is_obsolete(self, row: Invocation) -> bool:
        """True if the invocation is rewound, or its scheduled task or the call that it answers is."""
        if row.client_id.startswith(SCHEDULE):
            (task,) = [task for task in self.tasks if is_run_of(task, row)]
            return task.invocation_id in self.rewound
        calls = {id for event in self.events if event.invocation_id in self.rewound for id in call_ids(event)}
        return row.invocation_id in self.rewound or bool(answered_by(row) & calls)

    def events_of(self, invocation: Invocation) -> list[Event]:
        """Return the invocation's events."""
        return [event for event in self.events if event.invocation_id == invocation.invocation_id]


def is_run_of(task: ScheduledTask, row: Invocation) -> bool:
    """True if the invocation is a run of the scheduled task."""
    return row.client_id.startswith(f"{SCHEDULE}{task.pk}:")


def answered_by(row: Invocation) -> set[str]:
    """Return the ids of the calls that the message of the invocation answers."""
    return {part["functionResponse"]["id"] for part in row.message["parts"] if "functionResponse" in part}


def is_answer(event: Event) -> bool:
    """True if the event is an agent's complete text."""
    is_incomplete = event.interrupted or event.error_code
    has_text = event.content is not None and any(part.text for part in event.content.parts or [])
    return event.author != "user" and has_text and not is_incomplete and not event.get_function_calls()


def asks_to_confirm(event: Event) -> bool:
    """True if the event requests a confirmation."""
    return any(call.name == REQUEST_CONFIRMATION for call in event.get_function_calls())


def message_id_in(event: Event) -> str | None:
    """Return the client id at the end of a person's message; None for other events."""
    if event.author != "user" or event.content is None or scheduled_task_in(event) is not None:
        return None
    texts = [part.text for part in event.content.parts or [] if part.text]
    return texts[-1].split(" ")[-1] if texts else None

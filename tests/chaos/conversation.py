"""A session as the database has it, and the questions that the verdict asks of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from runtime.events import Event
from runtime.events.calls import REQUEST_CONFIRMATION, call_ids, pending_calls
from runtime.events.rewound import drop_rewound
from sessions_app.client_ids import SCHEDULE
from sessions_app.history.event_marks import task_in
from sessions_app.models import Event as Row
from sessions_app.models import Invocation, ScheduledTask, Session, ToolJob


@dataclass(frozen=True)
class Conversation:
    """All that there is of a session."""

    session: Session
    rows: list[Row]
    events: list[Event]
    invocations: list[Invocation]
    jobs: list[ToolJob]
    tasks: list[ScheduledTask]

    @classmethod
    def load(cls, session: Session) -> Conversation:
        """Read it."""
        rows = list(session.events.order_by("seq"))
        return cls(
            session,
            rows,
            [Event.model_validate(row.body) for row in rows],
            list(session.invocations.order_by("pk")),
            list(session.jobs.order_by("created_at")),
            list(session.scheduled_tasks.order_by("pk")),
        )

    @cached_property
    def counting(self) -> list[Event]:
        """The events that count now."""
        return drop_rewound(self.events)

    def versions(self) -> Iterator[list[Event]]:
        """The events that counted before each rewind, and those that count now."""
        for index, event in enumerate(self.events):
            if event.actions.rewind_before_invocation_id is not None:
                yield drop_rewound(self.events[:index])
        yield self.counting

    @cached_property
    def waiting(self) -> set[str]:
        """The invocations of which a call waits for an answer from outside, by the log."""
        pending = pending_calls(self.counting).keys()
        return {event.invocation_id for event in self.counting if pending & call_ids(event)}

    @cached_property
    def calls(self) -> set[str]:
        """The ids of the calls that count."""
        return {call_id for event in self.counting for call_id in call_ids(event)}

    @cached_property
    def undone(self) -> set[str]:
        """The invocations that do not count any more."""
        return {event.invocation_id for event in self.events} - {e.invocation_id for e in self.counting}

    def is_undone(self, row: Invocation) -> bool:
        """Whether it does not count any more, or what it was to bring is of use to nothing that does."""
        if row.client_id.startswith(SCHEDULE):
            (task,) = [task for task in self.tasks if is_run_of(task, row)]
            return task.invocation_id in self.undone
        answered = {
            part["functionResponse"]["id"] for part in row.message["parts"] if "functionResponse" in part
        }
        return row.invocation_id in self.undone or bool(answered - self.calls)

    def of(self, invocation: Invocation) -> list[Event]:
        """The invocation's events."""
        return [event for event in self.events if event.invocation_id == invocation.invocation_id]


def is_run_of(task: ScheduledTask, row: Invocation) -> bool:
    """Whether the task's time began the invocation."""
    return row.client_id.startswith(f"{SCHEDULE}{task.pk}:")


def is_answer(event: Event) -> bool:
    """Whether an agent says something, and was not cut off."""
    is_cut = event.interrupted or event.error_code
    says = event.content is not None and any(part.text for part in event.content.parts or [])
    return event.author != "user" and says and not is_cut and not event.get_function_calls()


def asks_to_confirm(event: Event) -> bool:
    """Whether it asks the person for a yes or no."""
    return any(call.name == REQUEST_CONFIRMATION for call in event.get_function_calls())


def said_in(event: Event) -> str | None:
    """The client id of the message that the event is; None when the person did not say it."""
    if event.author != "user" or event.content is None or task_in(event) is not None:
        return None
    texts = [part.text for part in event.content.parts or [] if part.text]
    return texts[-1].split(" ")[-1] if texts else None

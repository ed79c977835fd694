"""Events of AG-UI about a thread, from a run's beginning until the thread rests.

A thread is a session. It rests when no invocation and no job of it is queued or running, and every answer of a job is
queued. So a run that waits for a job goes on until the job has reported, and a run that asks the person ends with
interrupts.

A client that connects again sends the id of its last event. The events from the run's beginning are then encoded again,
which restores the open steps, and the frames that the client has are left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ag_ui import core as ag_ui
from ag_ui.core.version import PROTOCOL_VERSION
from ag_ui.encoder import EventEncoder
from django.db.models import Exists, OuterRef, TextField
from django.db.models.functions import Cast

from runtime import types
from runtime.events.event import Event as RuntimeEvent
from runtime.events.rewound import drop_rewound
from sessions_app.api.adk.adk_encoder import REASONS
from sessions_app.api.run_stream import FeedStream
from sessions_app.api.site_streams import COMMENT
from sessions_app.base.codec import event_to_show
from sessions_app.contrib.ag_ui.event_frames import EventFrames, visible_state
from sessions_app.contrib.ag_ui.interrupts import waiting_for_person
from sessions_app.contrib.ag_ui.messages import CLIENT_ID, MessageIds, message_id_in, messages_of
from sessions_app.contrib.ag_ui.place import OpenText, Place, TextId
from sessions_app.data_protection.transcripts.session_json import state_of_user
from sessions_app.history.event_marks import is_resumed, writer_of
from sessions_app.history.public_event import public_body, public_event
from sessions_app.live.notices import InvocationNotice, JobNotice
from sessions_app.live.updates import EndUpdate, EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update
from sessions_app.models import Invocation, InvocationStatus, Session, ToolJob
from sessions_app.process.threads import in_thread

MAX_EVENTS = 2_000
"""Largest number of events whose messages a snapshot has: the newest."""
_encoder = EventEncoder()


@dataclass(frozen=True)
class RunOfClient:
    """A run of a client.

    Attributes:
        id: id of the run, chosen by the client.
        roots: invocations begun by the request, or by an earlier request for the same run.
        after: `seq` of the last event before them; without a root of the last event at the time of the request.
        result_ids: the client's ids of the results of its tools, by call.
    """

    id: str
    session: Session
    roots: Sequence[Invocation]
    after: int
    result_ids: Mapping[str, str]

    @property
    def root_ids(self) -> frozenset[str]:
        return frozenset(row.invocation_id for row in self.roots)


class ThreadStream(FeedStream):
    """Frames of a run.

    Args:
        place: where the client is; None at the beginning.
    """

    def __init__(self, run: RunOfClient, place: Place | None) -> None:
        super().__init__(run.session.pk, run.session.user_id, COMMENT, after=run.after)
        if place is None or place.seq < run.after:
            place = Place(run.after, is_opening=True)
        self.is_complete = place.has_ended
        self._run = run
        self._place = place
        self._skipped = place.count
        self._frames = EventFrames(place, run.root_ids)
        self._rest_at: int | None = None

    async def frames_of(self, update: Update) -> list[str]:
        """Return the frames of an update, and the last frames when the thread rests."""
        frames: list[str] = []
        match update:
            case StatusUpdate():
                if self._place.is_opening:
                    frames += await self._begin()
                self._rest_at = await in_thread(_rest_of, self._run.session)
            case EventUpdate():
                frames += await self._frames_of_event(update)
            case TextUpdate(chunk=chunk):
                texts = self._place.texts
                older = {key for key in texts if texts[key].lease_token < chunk.stream.lease_token}
                frames += await self._withdraw(older)
                frames += [self._frame(event) for event in self._frames.of_text(chunk)]
            case NoticeUpdate(notice=InvocationNotice() | JobNotice() as notice):
                self._rest_at = None
                if not notice.is_active:
                    self.feed.greet()  # The status tells whether the thread rests, and the position of its log.
            case EndUpdate(reason=reason):
                frames.append(self._frame(ag_ui.RunErrorEvent(message=REASONS[reason], code=reason)))
        if self._rest_at is not None and self.feed.seq >= self._rest_at:
            frames += await self._last_frames()
            self.is_complete = True
        return frames

    async def _begin(self) -> list[str]:
        """Return the first frames: the beginning of the run, the messages and the state."""
        thread_id = str(self._run.session.pk)
        state, self._frames.state_seq = await in_thread(_state_of, self._run.session)
        started = ag_ui.RunStartedEvent(
            thread_id=thread_id, run_id=self._run.id, protocol_version=PROTOCOL_VERSION
        )
        return self._counted(
            self._run.after, [started, await self._snapshot(), ag_ui.StateSnapshotEvent(snapshot=state)]
        )

    async def _frames_of_event(self, update: EventUpdate) -> list[str]:
        event = public_event(update.body, update.event)
        if update.seq < self._place.seq:  # The client has all its frames. Only its steps are noted.
            for _ in self._frames.of_event(update.seq, event):
                pass
            return []
        void = set(self._place.texts) if is_resumed(event) else self._frames.changed_texts(event)
        frames = await self._withdraw(void)
        texts = dict(self._place.texts)
        made = list(self._frames.of_event(update.seq, event))
        # Until the last frame of the event, a client that comes back needs the texts as they were before it.
        self._place.texts, later = texts, self._place.texts
        frames += self._counted(update.seq, made, later)
        return frames

    async def _withdraw(self, void: set[TextId]) -> list[str]:
        """Return the ends of open texts, and the messages without them."""
        frames = [self._frame(event) for event in self._frames.withdraw(void)]
        if self._place.is_stale:
            snapshot = await self._snapshot()
            self._place.is_stale = False
            frames.append(self._frame(snapshot))
        return frames

    async def _last_frames(self) -> list[str]:
        frames = await self._withdraw(set(self._place.texts))
        closing = list(self._frames.end_all_steps())
        frames += self._counted(self._place.seq, closing, is_whole=False)
        last = await in_thread(_last_event, self._run)
        self._place.has_ended = True
        return [*frames, self._frame(last)]

    def _counted(
        self,
        seq: int,
        events: Sequence[ag_ui.BaseEvent],
        texts: dict[TextId, OpenText] | None = None,
        *,
        is_whole: bool = True,
    ) -> list[str]:
        """Return the frames of an event of the log, without those that the client has.

        Args:
            texts: the open texts after the event.
            is_whole: False if more frames of the event may follow.
        """
        frames = []
        place = self._place
        place.seq = seq
        for number, event in enumerate(events, start=1):
            place.count = number
            if is_whole and number == len(events):
                self._finish(seq, texts)
            if number > self._skipped:
                frames.append(self._frame(event))
        if is_whole and not events:
            self._finish(seq, texts)
        self._skipped = 0
        return frames

    def _finish(self, seq: int, texts: dict[TextId, OpenText] | None) -> None:
        self._place.is_opening = False
        self._place.seq = seq + 1
        self._place.count = 0
        if texts is not None:
            self._place.texts = texts

    def _frame(self, event: ag_ui.BaseEvent) -> str:
        return f"id: {self._place}\n{_encoder.encode(event)}"

    async def _snapshot(self) -> ag_ui.MessagesSnapshotEvent:
        before = max(self._place.seq, self._run.after + 1)
        messages = await in_thread(_messages_before, self._run, before)
        return ag_ui.MessagesSnapshotEvent(messages=messages)


def _messages_before(run: RunOfClient, seq: int) -> list[ag_ui.Message]:
    """Return the messages of the log before an event, and those of the run that are not in the log yet."""
    rows = run.session.events.filter(seq__lt=seq).order_by("-seq").annotate(as_text=Cast("body", TextField()))
    bodies = [json.loads(public_body(text)) for text in rows.values_list("as_text", flat=True)[:MAX_EVENTS]]
    events = drop_rewound([event_to_show(body) for body in reversed(bodies)])
    begun = {
        writer_of(event.invocation_id, event.custom_metadata) for event in events if event.author == "user"
    }
    for row in run.roots:
        if row.invocation_id not in begun:
            content = types.Content.model_validate(row.message)
            events.append(RuntimeEvent(author="user", invocation_id=row.invocation_id, content=content))
    sent = run.session.invocations.filter(client_id__startswith=CLIENT_ID)
    known = dict(sent.values_list("invocation_id", "client_id"))
    ids = {invocation_id: message_id_in(client_id) for invocation_id, client_id in known.items()}
    return messages_of(events, MessageIds(ids, run.result_ids))


def _state_of(session: Session) -> tuple[dict[str, Any], int]:
    """Return the state for the client, and the `seq` of the last event that it has."""
    current = Session.objects.get(pk=session.pk)
    return visible_state(state_of_user(current)), current.last_seq


def _rest_of(session: Session) -> int | None:
    """Return the `seq` of the last event of a thread that rests; None while it works."""
    active = Invocation.objects.filter(session=OuterRef("pk"), status__in=InvocationStatus.active())
    jobs = ToolJob.objects.at_work().filter(session=OuterRef("pk"))
    # One statement: between two, a job could end and queue the invocation with its answer.
    resting = Session.objects.filter(~Exists(active), ~Exists(jobs), pk=session.pk)
    return resting.values_list("last_seq", flat=True).first()


def _last_event(run: RunOfClient) -> ag_ui.BaseEvent:
    """Return the last event of a run whose thread rests."""
    latest = run.session.invocations.without_details().order_by("-pk").first()
    status = latest.status if latest is not None and run.roots else ""
    finished = partial(ag_ui.RunFinishedEvent, thread_id=str(run.session.pk), run_id=run.id)
    if latest is not None and status == InvocationStatus.FAILED:
        return ag_ui.RunErrorEvent(
            message=latest.error_message or "The run failed.", code=latest.error_code or None
        )
    if status == InvocationStatus.CANCELLED:
        return finished(outcome=ag_ui.RunFinishedCancelledOutcome())
    interrupts, tool_calls = waiting_for_person(run.session)
    if interrupts:
        return finished(outcome=ag_ui.RunFinishedInterruptOutcome(interrupts=interrupts))
    return finished(outcome=ag_ui.RunFinishedSuccessOutcome(pending_tool_call_ids=tool_calls or None))

"""Session service on PostgreSQL, one statement for each operation of the hot path (contract S1 to S8).

A load takes the first source that suffices:

    1  preloaded   the row and state that the claiming statement returned, with the cached events
    2  cache       one statement for the row, the state and the events that are not cached
    3  stored      one statement and further pages, from the last summary on; this fills the cache

An append goes to `sql/appends`. If other writers have appended since the load (a summary, a change of state), the new
event's `seq` shows it: the missing events are read and added to the session before its agent resumes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from runtime.errors import AdkError, AlreadyExistsError, SessionNotFoundError
from runtime.events.calls import MadeCall
from runtime.events.event import Event as RuntimeEvent
from runtime.events.rewound import drop_rewound, rewinds_past_start
from runtime.events.summaries import latest_full_summary, without_superseded
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from runtime.sessions.session import Session as RuntimeSession
from runtime.sessions.session import update_time
from runtime.sessions.state import ScopedState, as_json, without_temp
from sessions_app import models
from sessions_app.base.actors import Act
from sessions_app.base.codec import event_from_json, event_to_json, is_storable, user_pk
from sessions_app.errors import InvalidInputError, NotFoundError, StaleLeaseError, StateChangedError
from sessions_app.process.threads import in_thread
from sessions_app.store.erasing import delete_session_row
from sessions_app.store.history_cache import History, SessionName, bodies_in_slices, cache
from sessions_app.store.model_calls import ModelCallLog
from sessions_app.store.shared_state import merge_shared_state, shared_states
from sessions_app.store.sql import appends, event_log
from sessions_app.store.sql.event_rows import StagedError, StagedJob

KEY_LENGTH = 255


@dataclass(frozen=True)
class CommittedEvent:
    """A committed event, with its JSON and the jobs created with it."""

    session_id: UUID
    app_name: str
    seq: int
    event: RuntimeEvent
    body: str
    jobs: Sequence[StagedJob]


def _nothing(of: object) -> tuple[()]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writer of events: its rights, the rows to store with each event, and the callback after each commit.

    Attributes:
        lease_token: fencing token of the writer's lease. Without a lease, events with content are refused while
            another process holds the session's lease.
        act: the act to record with each appended event.
        expected: see `appends.Append`.
        staged_jobs: returns the jobs to create with an event.
        staged_errors: returns the exceptions of tools to store with an event.
        model_calls: the model calls to store with their answers.
        on_commit: called after each commit.
    """

    lease_token: int | None = None
    act: Act | None = None
    expected: Mapping[str, str] | None = None
    staged_jobs: Callable[[RuntimeEvent], Sequence[StagedJob]] = _nothing
    staged_errors: Callable[[RuntimeEvent], Sequence[StagedError]] = _nothing
    model_calls: ModelCallLog | None = None
    on_commit: Callable[[CommittedEvent], object] = _nothing

    def make_append(self, session: RuntimeSession, event: RuntimeEvent) -> appends.Append:
        """Return the event with all rows of its transaction. Staged jobs, errors and model calls are consumed."""
        return appends.Append(
            key=(session.app_name, user_pk(session.user_id), session.id),
            body=event_to_json(event),
            respects_lease=event.content is not None or event.actions.rewind_before_invocation_id is not None,
            timestamp=update_time(event),
            lease_token=self.lease_token,
            delta=ScopedState.split(event.actions.state_delta),
            jobs=self.staged_jobs(event),
            act=self.act,
            expected=self.expected,
            errors=self.staged_errors(event),
            model_call=self.model_calls.take(event) if self.model_calls else None,
        )

    def note_commit(self, append: appends.Append, committed: CommittedEvent) -> None:
        """Remember the texts stored by the append, and call `on_commit`."""
        if self.model_calls and append.model_call:
            self.model_calls.remember_texts(append.model_call)
        self.on_commit(committed)


class DjangoSessionService(BaseSessionService):
    """Stores sessions in the models of this app.

    Args:
        preloaded: the session's row and state, just read; loads before the first append use them if the cached
            history reaches as far.
        view: filters the events of a loaded session.
    """

    def __init__(
        self,
        writer: Writer = Writer(),
        *,
        preloaded: event_log.Loaded | None = None,
        view: Callable[[list[RuntimeEvent]], list[RuntimeEvent]] | None = None,
    ) -> None:
        self._writer = writer
        self._preloaded = preloaded
        self._view = view

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
        pk: UUID | None = None,
    ) -> RuntimeSession:
        """Create a session, with `pk` as its primary key.

        Raises:
            AlreadyExistsError: the user has a session with this id and app, or `pk` is in use.
            InvalidInputError: the id cannot be stored.
            NotFoundError: there is no such user.
            SessionNotFoundError: the session was deleted just after its creation.
        """
        scoped = ScopedState.split(as_json(without_temp(state or {})))
        key = (session_id or "").strip() or str(uuid4())
        if len(key) > KEY_LENGTH or not is_storable(key):
            raise InvalidInputError(
                f"Session id {key[:80]!r} cannot be stored: use at most {KEY_LENGTH} characters and no NUL.",
                field="session_id",
            )
        await in_thread(_create, app_name, user_pk(user_id), key, scoped, pk or uuid4())
        session = await self.get_session(app_name=app_name, user_id=user_id, session_id=key)
        if session is None:
            raise SessionNotFoundError(f"Session {key!r} was deleted just after its creation.")
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> RuntimeSession | None:
        name = (app_name, user_id, session_id)
        config = config or GetSessionConfig()
        if config.num_recent_events is not None or config.after_timestamp is not None:
            return await _load_part(name, config)
        whole = not config.without_superseded
        found = await self._load_cached(name, whole) or await self._load_stored(name, whole)
        if found is None:
            return None
        loaded, history = found
        # Another load may have extended the shared history while this load was awaited: fit the events to the state.
        events = history.events[: loaded.last_seq - history.skipped]
        if not whole and not history.is_plain:
            events = without_superseded(events)
        if self._view:
            events = self._view(events)
        session = _session(name, loaded, events)
        session.invocations = history.invocations
        return session

    async def effective_events(self, *, app_name: str, user_id: str, session_id: str) -> list[RuntimeEvent]:
        """Return the events without rewound events (contract R3); empty when the session was deleted.

        Events that a summary has replaced are included: they may hold calls that still wait.
        """
        history = await self._whole_history((app_name, user_id, session_id))
        return history.effective_events() if history else []

    async def pending_calls(self, *, app_name: str, user_id: str, session_id: str) -> list[MadeCall]:
        """Return the calls in the effective events that wait for a response from outside, oldest first."""
        history = await self._whole_history((app_name, user_id, session_id))
        return history.pending_calls() if history else []

    async def _whole_history(self, name: SessionName) -> History | None:
        found = await self._load_cached(name, whole=True) or await self._load_stored(name, whole=True)
        return found[1] if found else None

    async def _load_cached(self, name: SessionName, whole: bool) -> tuple[event_log.Loaded, History] | None:
        """Extend the cached history by the new events; None when the cache has no usable history."""
        preloaded = self._preloaded
        history = cache.get(name)
        if history is None or (whole and history.skipped):
            return None
        after = history.last_seq
        if preloaded is not None and (preloaded.session_id, preloaded.last_seq) == (
            history.session_id,
            after,
        ):
            return None if _lost_its_summary(history) else (preloaded, history)
        loaded = await event_log.load(_key(name), after=after)
        if loaded is not None:
            known = after
            async for bodies in bodies_in_slices(event_log.pages(loaded)):
                cache.extend(name, loaded.session_id, known, bodies)
                known += len(bodies)
        # During the awaits the session may have been deleted or created again, or the history dropped or evicted.
        if loaded is None or cache.get(name) is not history or history.last_seq < loaded.last_seq:
            cache.forget(name)
            return None
        return None if _lost_its_summary(history) else (loaded, history)

    async def _load_stored(self, name: SessionName, whole: bool) -> tuple[event_log.Loaded, History] | None:
        """Load the session from PostgreSQL, and cache it unless a history is cached."""
        loaded = await event_log.load(_key(name), whole=whole)
        if loaded is None:
            return None
        history = History(loaded.session_id, skipped=loaded.skipped)
        async for bodies in bodies_in_slices(event_log.pages(loaded)):
            history.add(history.last_seq, bodies)
        if history.last_seq < loaded.last_seq:  # The session has been deleted since.
            return None
        # The statement takes the latest summary without regard to rewinds; whether it is in effect shows only here.
        if _lost_its_summary(history):
            cache.forget(name)
            return await self._load_stored(name, whole=True)
        # An existing history begins at a summary and is shorter than a whole load. Invocations need no more.
        if cache.get(name) is None:
            cache.keep(name, history)
        return loaded, history

    async def initial_state(self, *, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
        rows = models.Session.objects.filter(app_name=app_name, user_id=_pk_or_none(user_id), key=session_id)
        return await in_thread(rows.values_list("initial_state", flat=True).first) or {}

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=await in_thread(_list, app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        cache.forget((app_name, user_id, session_id))
        await in_thread(_delete, app_name, _pk_or_none(user_id), session_id)

    async def _store(self, session: RuntimeSession, event: RuntimeEvent) -> None:
        self._preloaded = None  # A later load would get a state from before this run's own appends.
        append = self._writer.make_append(session, event)
        committed = await appends.append(append)
        if isinstance(committed, appends.AppendRefusal):
            raise _refusal_error(committed, session.id)
        await self._catch_up(session, committed)
        name = (session.app_name, session.user_id, session.id)
        # The cache reads a copy from the body: later changes of the writer's event object are not in the log.
        cache.extend(name, committed.session_id, committed.seq - 1, [append.body])
        session.last_seq = committed.seq
        self._writer.note_commit(
            append,
            CommittedEvent(
                session_id=committed.session_id,
                app_name=session.app_name,
                seq=committed.seq,
                event=event,
                body=append.body,
                jobs=append.jobs,
            ),
        )

    async def _catch_up(self, session: RuntimeSession, committed: appends.Committed) -> None:
        """Add the events appended by other writers between the load of the session and the new event."""
        missing = committed.seq - 1 - session.last_seq
        if missing <= 0:
            return
        rows = await event_log.events_after(committed.session_id, session.last_seq, missing)
        for _, body in rows:
            missed = event_from_json(body)
            session.events.append(missed)
            session.state.update(missed.actions.state_delta)


def _refusal_error(refusal: appends.AppendRefusal, session_id: str) -> AdkError:
    match refusal:
        case appends.AppendRefusal.MISSING:
            return SessionNotFoundError(f"Session {session_id!r} was deleted meanwhile.")
        case appends.AppendRefusal.VALUE_CHANGED:
            return StateChangedError()
        case appends.AppendRefusal.STALE_LEASE:
            return StaleLeaseError(
                f"Another process has taken over session {session_id!r}. "
                "This process stops writing to it; committed events are not lost."
            )


def _session(name: SessionName, loaded: event_log.Loaded, events: list[RuntimeEvent]) -> RuntimeSession:
    app_name, user_id, key = name
    # Not validated: all values come from typed rows.
    return RuntimeSession.model_construct(
        id=key,
        app_name=app_name,
        user_id=user_id,
        state=loaded.state.merged(),
        events=list(events),
        last_update_time=loaded.last_event_at,
        last_seq=loaded.last_seq,
    )


def _lost_its_summary(history: History) -> bool:
    """Return True if a rewind undid the summary of the skipped events, so the events are in effect again."""
    if not history.skipped:
        return False
    return rewinds_past_start(history.events) or latest_full_summary(drop_rewound(history.events)) is None


async def _load_part(name: SessionName, config: GetSessionConfig) -> RuntimeSession | None:
    """Load the session with its newest events, or events since a time; None if the session is missing or deleted."""
    loaded = await event_log.load(_key(name), recent=config.num_recent_events, since=config.after_timestamp)
    if loaded is None:
        return None
    events: list[RuntimeEvent] = []
    async for bodies in bodies_in_slices(event_log.pages(loaded)):
        events += map(event_from_json, bodies)
    if len(events) < loaded.count:
        return None
    return _session(name, loaded, events)


def _key(name: SessionName) -> event_log.SessionKey:
    app_name, user_id, session_id = name
    return (app_name, _pk_or_none(user_id), session_id)


def _pk_or_none(user_id: str) -> Any:
    try:
        return user_pk(user_id)
    except NotFoundError:
        return None


def _create(app_name: str, user: Any, key: str, scoped: ScopedState, pk: UUID) -> None:
    if not get_user_model()._default_manager.filter(pk=user).exists():
        raise NotFoundError(f"There is no user with the primary key {user!r}: create the user first.")
    try:
        with transaction.atomic():
            models.Session.objects.create(
                pk=pk,
                app_name=app_name,
                user_id=user,
                key=key,
                state=scoped.session,
                initial_state=scoped.session,
            )
            merge_shared_state(app_name, user, scoped)
    except IntegrityError as error:
        raise AlreadyExistsError(
            f"Session {key!r} already exists. Use get_session, or another id."
        ) from error


def _delete(app_name: str, user: Any, key: str) -> None:
    delete_session_row(models.Session.objects.filter(app_name=app_name, user_id=user, key=key))


def _list(app_name: str, user_id: str | None) -> list[RuntimeSession]:
    rows = models.Session.objects.filter(app_name=app_name).newest_first()
    if user_id is not None:
        rows = rows.filter(user_id=_pk_or_none(user_id))
    sessions = list(rows)
    app_state, user_states = shared_states(app_name, {row.user_id for row in sessions})
    return [
        RuntimeSession(
            id=row.key,
            app_name=app_name,
            user_id=str(row.user_id),
            state=ScopedState(
                app=app_state, user=user_states.get(row.user_id, {}), session=row.state
            ).merged(),
            last_update_time=row.last_event_at.timestamp(),
            last_seq=row.last_seq,
        )
        for row in sessions
    ]

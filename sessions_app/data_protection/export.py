"""Export of a session or a user to an archive, in bounded memory and without secrets.

Rows are read page by page and written as a stream, so memory does not grow with a session. An export is no snapshot of
the database: the file of a session has the events up to `last_seq` of its row, and the hash in `sessions.json` is read
later. An import refuses a log without its last event, so export a session at rest.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from runtime.sessions.state import ScopedState
from sessions_app.data_protection.archive import Archive, as_json, json_list
from sessions_app.data_protection.personal_data import rows_of_sessions, rows_of_user
from sessions_app.errors import LostPackError, NotFoundError
from sessions_app.history.evidence.integrity import HASH_OF_BODIES
from sessions_app.models import (
    AccountAct,
    ApiKey,
    Artifact,
    Event,
    KnowledgeVersion,
    LinkedAccount,
    MemoryPause,
    RequestText,
    SavedCredential,
    Session,
    SessionText,
    UserState,
    Webhook,
)
from sessions_app.secrets.masking import mask
from sessions_app.store.packs import open_pack

logger = logging.getLogger(__name__)
ROWS_PER_QUERY = 200
SESSION_FIELDS = (
    "id", "app_name", "key", "title", "title_source", "initial_state", "is_pinned", "archived_at", "deleted_at",
    "created_at", "updated_at",
)  # fmt: skip
FIELDS: dict[str, tuple[str, ...]] = {
    "invocations": (
        "session_id", "invocation_id", "client_id", "message", "status", "error_code", "error_message",
        "created_at", "started_at", "finished_at",
    ),
    "jobs": (
        "session_id", "id", "invocation_id", "call_id", "tool_name", "agent_name", "args", "status", "result",
        "error", "artifacts", "question", "answers", "created_at", "started_at", "finished_at",
    ),
    "scheduled_tasks": (
        "session_id", "id", "invocation_id", "call_id", "agent_name", "task", "start_at", "next_at", "every",
        "time_zone", "runs", "most_runs", "ends_at", "created_at", "last_run_at", "cancelled_at",
    ),
    "feedback": ("session_id", "seq", "rating", "comment", "created_at", "updated_at"),
    "annotations": ("session_id", "seq", "label", "created_at"),
    "share_links": ("session_id", "created_at", "revoked_at"),
    "acts": ("session_id", "action", "subject_kind", "subject_id", "seq", "actor_kind", "at"),
    "knowledge_searches": ("session_id", "invocation_id", "agent_name", "bases", "query", "found", "at"),
    "memory_entries": ("session_id", "event_id", "source_event_id", "author", "said_at", "content"),
}  # fmt: skip
"""Exported fields by kind, which is the name of the file. No internals of the site; no notes, names and addresses of
staff."""
API_KEY_FIELDS = (
    "id", "name", "prefix", "scopes", "requests_per_minute", "tokens_per_day", "created_at", "expires_at",
    "last_used_at", "revoked_at",
)  # fmt: skip
UPLOAD_FIELDS = ("document__base__name", "document__name", "number", "size", "sha256", "created_at")
WEBHOOK_FIELDS = ("id", "url", "events", "created_at", "disabled_at", "disabled_reason")
LINKED_ACCOUNT_FIELDS = ("service", "place", "account", "name", "linked_at")
ACCOUNT_ACT_FIELDS = ("action", "subject_kind", "subject_id", "actor_kind", "at")


def export_session(session_pk: UUID, target: Path) -> list[dict[str, Any]]:
    """Write the session to the target; return the list of files as in the manifest.

    Raises:
        NotFoundError: there is no such session.
        ConflictError: the target exists.
    """
    sessions = Session.objects.filter(pk=session_pk)
    if not sessions.exists():
        raise NotFoundError(f"There is no session '{session_pk}'.")
    with Archive(target) as archive:
        write_sessions(archive, sessions)
    return archive.files


def export_user(user_pk: Any, target: Path) -> list[dict[str, Any]]:
    """Write all data of the user and the user's conversations to the target; return the list of files.

    Raises:
        NotFoundError: there is no such user.
        ConflictError: the target exists.
    """
    user = get_user_model()._default_manager.filter(pk=user_pk).first()
    if user is None:
        raise NotFoundError(f"There is no user with the primary key '{user_pk}'.")
    with Archive(target) as archive:
        archive.write_json("person.json", {"id": str(user.pk), "name": user.get_username()})
        _write_sessions(archive, rows_of_user(Session, user_pk))
        states = rows_of_user(UserState, user_pk).values("app_name", "state")
        archive.write_list("user_states.json", map(mask, states.iterator(ROWS_PER_QUERY)))
        # The credentials themselves are not exported, not even encrypted.
        credentials = (
            rows_of_user(SavedCredential, user_pk).order_by("pk").values("app_name", "service", "saved_at")
        )
        archive.write_list("credentials.json", credentials.iterator(ROWS_PER_QUERY))
        keys = rows_of_user(ApiKey, user_pk).order_by("created_at", "pk").values(*API_KEY_FIELDS)
        archive.write_list("api_keys.json", map(mask, keys.iterator(ROWS_PER_QUERY)))
        hooks = rows_of_user(Webhook, user_pk).order_by("created_at", "pk").values(*WEBHOOK_FIELDS)
        archive.write_list("webhooks.json", map(mask, hooks.iterator(ROWS_PER_QUERY)))
        accounts = rows_of_user(LinkedAccount, user_pk).order_by("pk").values(*LINKED_ACCOUNT_FIELDS)
        archive.write_list("linked_accounts.json", accounts.iterator(ROWS_PER_QUERY))
        pauses = rows_of_user(MemoryPause, user_pk).order_by("pk").values("paused_at", "resumed_at")
        archive.write_list("memory_pauses.json", pauses.iterator(ROWS_PER_QUERY))
        acts = rows_of_user(AccountAct, user_pk).order_by("pk").values(*ACCOUNT_ACT_FIELDS)
        archive.write_list("account_acts.json", acts.iterator(ROWS_PER_QUERY))
        uploads = KnowledgeVersion.objects.filter(uploaded_by=user_pk).order_by("pk").values(*UPLOAD_FIELDS)
        archive.write_list("knowledge_uploads.json", map(mask, uploads.iterator(ROWS_PER_QUERY)))
        _write_artifacts(archive, rows_of_user(Artifact, user_pk))
    return archive.files


def write_sessions(archive: Archive, sessions: QuerySet[Session]) -> None:
    """Write the sessions with all their rows and files."""
    _write_sessions(archive, sessions)
    _write_artifacts(archive, Artifact.objects.filter(session__in=sessions.values("pk")))


def event_json(session_pk: UUID, seq: int) -> bytes:
    """Return the JSON of an event as in the export of its session."""
    return as_json(mask(Event.objects.values_list("body", flat=True).get(session=session_pk, seq=seq)))


def _write_sessions(archive: Archive, sessions: QuerySet[Session]) -> None:
    """Write a file for each session, and a file for each kind of their rows."""
    for session_pk in sessions.order_by("pk").values_list("pk", flat=True).iterator(ROWS_PER_QUERY):
        # Read again one by one: a session may be erased since the query of the keys.
        if session := Session.objects.filter(pk=session_pk).first():
            try:
                open_pack(session)
            except LostPackError:
                logger.error(
                    "The pack of session %s is lost; its events are left out of the export",
                    session_pk,
                    extra={"session_id": str(session_pk)},
                )
            archive.write(f"sessions/{session_pk}.json", _session_json(session))
    archive.write_list("sessions.json", _session_rows(sessions))
    changed = Event.objects.filter(session__in=sessions.values("pk"), before__isnull=False)
    befores = changed.order_by("session", "seq").values("session_id", "seq", "before")
    archive.write_list("before.json", map(_masked, befores.iterator(ROWS_PER_QUERY)))
    for kind, fields in FIELDS.items():
        rows = rows_of_sessions(kind, sessions).order_by("pk")
        archive.write_list(f"{kind}.json", map(mask, rows.values(*fields).iterator(ROWS_PER_QUERY)))
    _write_model_calls(archive, sessions)


def _session_rows(sessions: QuerySet[Session]) -> Iterator[dict[str, Any]]:
    """Yield the row of each session. `is_masked` covers the state, too."""
    for session in sessions.annotate(log_sha256=HASH_OF_BODIES).order_by("pk").iterator(ROWS_PER_QUERY):
        row = {name: getattr(session, name) for name in (*SESSION_FIELDS, "log_sha256")}
        # The state itself is in the file of the session; an import needs to know whether the mask replaced a part of
        # it.
        marked = _masked({**row, "state": _state_of(session)})
        del marked["state"]
        yield marked


def _masked(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with masked values, and `is_masked`: True if the mask replaced a value."""
    masked = mask(row)
    return {**masked, "is_masked": masked != row}


def _write_model_calls(archive: Archive, sessions: QuerySet[Session]) -> None:
    """Write the records of the model requests with their texts."""
    recorded = Event.objects.filter(session__in=sessions.values("pk"), model_call__isnull=False)
    calls = recorded.order_by("session", "seq").values("session_id", "seq", "model_call")
    archive.write_list("model_calls.json", calls.iterator(ROWS_PER_QUERY))
    needed = SessionText.objects.filter(session__in=sessions.values("pk")).values("text_id")
    texts = RequestText.objects.filter(pk__in=needed).order_by("pk").values_list("pk", "text")
    listed = ({"id": pk.hex, "value": mask(json.loads(text))} for pk, text in texts.iterator(ROWS_PER_QUERY))
    archive.write_list("request_texts.json", listed)


def session_head(session: Session) -> dict[str, Any]:
    """Return the session in the format of the ADK API, without its events."""
    return {
        "id": session.key,
        "appName": session.app_name,
        "userId": str(session.user_id),
        "state": _state_of(session),
        "lastUpdateTime": session.last_event_at.timestamp(),
    }


def _state_of(session: Session) -> dict[str, Any]:
    """Return the state of the session and of its user. App state belongs to no user and is left out."""
    user_state: dict[str, Any] = {}
    shared = UserState.objects.filter(app_name=session.app_name, user_id=session.user_id).first()
    if shared is not None:
        user_state = shared.state
    return ScopedState(user=user_state, session=session.state).merged()


def _session_json(session: Session) -> Iterator[bytes]:
    """Yield the session's JSON in the format of the ADK API, event by event."""
    yield as_json(mask(session_head(session)))[:-1] + b', "events": '
    yield from json_list(mask(body) for body in _bodies(session))
    yield b"}\n"


def _bodies(session: Session) -> Iterator[dict[str, Any]]:
    """Yield the JSON of the events up to `session.last_seq`."""
    seq = 0
    # Later events would not fit the exported state.
    events = Event.objects.filter(session=session, seq__lte=session.last_seq)
    while page := list(events.after(seq).values_list("seq", "body")[:ROWS_PER_QUERY]):
        yield from (body for _, body in page)
        seq = page[-1][0]


def _write_artifacts(archive: Archive, artifacts: QuerySet[Artifact]) -> None:
    """Write the files, and the list with their names."""
    fields = (
        "pk",
        "app_name",
        "session_id",
        "filename",
        "part_kind",
        "version",
        "mime_type",
        "size",
        "sha256",
        "created_at",
    )
    listed = []
    for artifact in artifacts.order_by("pk").iterator(ROWS_PER_QUERY):
        # The key, not the name: names come from users and models, and may lead out of the archive as paths.
        path = f"artifacts/{artifact.pk}"
        try:
            with artifact.file.open("rb") as file:
                archive.write(path, file.chunks())
        except FileNotFoundError:
            logger.warning("The file of artifact %s is missing; it is left out of the export", artifact.pk)
            path = ""
        listed.append(mask({"path": path, **{name: getattr(artifact, name) for name in fields}}))
    archive.write_list("artifacts.json", listed)

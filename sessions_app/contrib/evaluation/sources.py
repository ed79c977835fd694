"""Sources of an evaluation: eval sets and criteria in files, and conversations with a label.

Conversations become cases of an eval set in the format of the Agent Development Kit (`*.evalset.json`).
"""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from uuid import UUID

from django.utils import timezone

from runtime.errors import EvaluationError
from runtime.evaluation.eval_case import EvalCase, SessionInput
from runtime.evaluation.eval_config import DEFAULT_CONFIG, EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import MAX_CASES, config_beside
from runtime.evaluation.recording import SessionRecording
from runtime.valid_text import storable
from sessions_app.agent_apps.loading.sources import folder_directories, package_directories
from sessions_app.agent_apps.registry import registry
from sessions_app.base.codec import event_to_show
from sessions_app.data_protection.archive import as_json
from sessions_app.data_protection.transcripts.stream import EventBatch, read_batches
from sessions_app.models import Annotation, Session
from sessions_app.process import threads
from sessions_app.process.threads import download_threads, in_thread
from sessions_app.secrets.masking import mask
from sessions_app.store.packs import open_if_packed

SUFFIX = ".evalset.json"


def set_path(app_name: str, name: str) -> Path:
    """Return the path of an eval set from a path, or from the name of a set in the directory of the app's agents.

    The path may lead to no file.

    Raises:
        EvaluationError: there is no set of this name; the message lists the sets.
    """
    path = Path(name)
    folder = directory_of(app_name)
    if path.exists() or folder is None:
        return path
    is_file = name.endswith(".json")
    own = folder / (name if is_file else f"{name}{SUFFIX}")
    if own.exists():
        return own
    if is_file:
        return path
    known = sorted(found.name.removesuffix(SUFFIX) for found in folder.glob(f"*{SUFFIX}"))
    raise EvaluationError(
        f"There is no set {name!r} beside the agents of {app_name!r}. The sets there: {', '.join(known) or 'none'}."
    )


def config_of(app_name: str) -> EvalConfig:
    """Return the criteria in the directory of the app's agents, or the default criteria. Raise as `config_beside`."""
    folder = directory_of(app_name)
    return config_beside(folder) if folder else DEFAULT_CONFIG


def marked_set(app_name: str, label: str) -> EvalSet:
    """Return the eval set of an app's conversations with a label of staff.

    Raises:
        EvaluationError: no conversation has the label; the message lists the labels.
    """
    sessions = Session.objects.filter(app_name=app_name, deleted_at=None)
    annotations = Annotation.objects.filter(label=storable(label))
    marked = sessions.filter(pk__in=annotations.values("session"))
    ids: list[UUID] = []
    if label:
        # One more than the limit, so the check of the set can refuse a set that is too large.
        ids += marked.order_by("pk").values_list("pk", flat=True)[: MAX_CASES + 1]
    if not ids:
        labels = Annotation.objects.filter(session__in=sessions).exclude(label="")
        known = ", ".join(map(repr, labels.values_list("label", flat=True).distinct().order_by("label")))
        raise EvaluationError(
            f"No conversation with {app_name!r} has the label {label!r}. The labels: {known or 'none'}."
        )
    return threads.run(eval_set_of(label, ids))


def directory_of(app_name: str) -> Path | None:
    """Return the directory of an app's agents; None for an app without a known directory."""
    directories = {**package_directories(), **folder_directories()}
    for name, app in registry().modules.items():
        if app.name == app_name and name in directories:
            return directories[name]
    return None


async def stream_eval_set(name: str, session_ids: Iterable[UUID]) -> AsyncIterator[bytes]:
    """Yield the JSON of an eval set with the cases of the sessions, in constant memory."""
    head = {"eval_set_id": name, "name": name, "creation_timestamp": timezone.now().timestamp()}
    yield as_json(head)[:-1] + b', "eval_cases": ['
    separator = b"\n"
    async for case in cases_of(session_ids):
        yield separator + as_json(case.model_dump(mode="json", exclude_none=True))
        separator = b",\n"
    yield b"\n]}\n"


async def eval_set_of(name: str, session_ids: Iterable[UUID]) -> EvalSet:
    """Return the eval set written by `stream_eval_set`."""
    cases = [case async for case in cases_of(session_ids)]
    return EvalSet(
        eval_set_id=name, name=name, eval_cases=cases, creation_timestamp=timezone.now().timestamp()
    )


async def cases_of(session_ids: Iterable[UUID]) -> AsyncIterator[EvalCase]:
    """Yield the case of each session with a message. Sessions erased in the meantime are left out."""
    for session_id in session_ids:
        session = await in_thread(Session.objects.filter(pk=session_id).first)
        if session is None:
            continue
        await open_if_packed(session)
        case = await _case_of(session)
        if case and case.conversation:
            yield case


async def _case_of(session: Session) -> EvalCase:
    """Return the case of a session without rewound events, with secrets masked."""
    recording = SessionRecording()
    async for batch in read_batches(session):
        await download_threads.run(_add_batch, recording, batch)
    return EvalCase(
        eval_id=str(session.pk),
        conversation=recording.invocations,
        session_input=SessionInput(
            app_name=session.app_name,
            user_id=str(session.user_id),
            state=mask(session.initial_state),
        ),
        creation_timestamp=session.created_at.timestamp(),
    )


def _add_batch(recording: SessionRecording, batch: EventBatch) -> None:
    for row in batch.events:
        recording.add(event_to_show(mask(row.body)))

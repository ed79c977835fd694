"""Import of a session from an archive of `export_session`: state, events and files, or nothing.

Two checks: before the import each file must have the size and hash in the manifest. Afterwards the bodies of the events
must have the hash of the exported ones, computed by PostgreSQL from the inserted events. So an imported log is the
original log, under the same session id, which is part of the hash. The hashes of the rows are new, because they cover
the owner and the invocations, too.

An archive may come from elsewhere, and a small one can unpack to gigabytes. So sizes are checked before anything is
unpacked: `MAX_JSON_BYTES` limits what is read into memory, and the person's limit holds for files.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID
from zipfile import BadZipFile, ZipFile

from django.core.files import File
from django.db import DataError, IntegrityError, connection, transaction

from runtime.sessions.state import ScopedState
from sessions_app.base.actors import SITE, Act, ActionKind
from sessions_app.data_protection.archive import MANIFEST, is_as_listed
from sessions_app.errors import ConflictError, InvalidInputError
from sessions_app.history.evidence.integrity import HASH_OF_BODIES
from sessions_app.models import Artifact, Session, SessionAct, SessionFigures, UserState
from sessions_app.secrets.masking import MASK
from sessions_app.store.artifact_service import check_artifact_size

MAX_JSON_BYTES = 100_000_000
FILE_FIELDS = ("filename", "version", "mime_type", "part_kind", "size", "sha256", "created_at")
"""Columns of a file that the archive has."""


@dataclass(frozen=True)
class Imported:
    """An imported session.

    Attributes:
        doubt: sentence with the reason why the session may differ from the original; empty if the log has the hash in
            the archive and no value of the state is masked.
    """

    session: Session
    doubt: str


def import_session(source: Path, user_pk: Any, *, allow_unverified: bool = False) -> Imported:
    """Store the session of an archive for a user, under its original id, in one transaction.

    Does not import invocations, jobs and scheduled tasks, so nothing starts to run. Keeps existing `user:` values.

    Args:
        allow_unverified: accept a log with another hash, and values masked by the export.

    Raises:
        InvalidInputError: the archive is damaged, changed or too large, or does not have exactly one session.
        LimitExceededError: the person may not have so many bytes of files.
        ConflictError: the session exists, its events do not have the hash of the original log, or its state is masked.
    """
    try:
        with ZipFile(source) as archive:
            _check_manifest(archive)
            return _store(archive, user_pk, allow_unverified)
    except IntegrityError as error:
        raise ConflictError(
            f"The session of '{source.name}' was stored by another import meanwhile."
        ) from error
    except RecursionError as error:
        raise InvalidInputError(f"'{source.name}' has JSON that is nested too deeply to be read.") from error
    except (BadZipFile, KeyError, TypeError, ValueError, OSError, DataError) as error:
        raise InvalidInputError(f"'{source.name}' is no archive of a session: {error}") from error


def _check_manifest(archive: ZipFile) -> None:
    if MANIFEST not in archive.namelist():
        raise InvalidInputError(f"The archive has no {MANIFEST}: the export did not end.")
    # The manifest is the last file of an export.
    listed = {file["name"]: file for file in _json(archive, MANIFEST)["files"]}
    stored = set(archive.namelist()) - {MANIFEST}
    if odd := sorted(stored.symmetric_difference(listed)):
        raise InvalidInputError(f"The manifest and the files of the archive differ: '{odd[0]}'.")
    for name, entry in listed.items():
        if not is_as_listed(archive, entry):
            raise InvalidInputError(f"'{name}' does not have the size and SHA-256 that the manifest names.")


def _json(archive: ZipFile, name: str) -> Any:
    # No reader goes beyond the size in the directory, so a false size hides nothing.
    size = archive.getinfo(name).file_size
    if size > MAX_JSON_BYTES:
        raise InvalidInputError(
            f"'{name}' unpacks to {size} bytes, and an import reads at most {MAX_JSON_BYTES} bytes of JSON."
        )
    return json.loads(archive.read(name))


def _store(archive: ZipFile, user_pk: Any, allow_unverified: bool) -> Imported:
    rows = _json(archive, "sessions.json")
    if len(rows) != 1:
        raise InvalidInputError(f"The archive has {len(rows)} sessions: export one session.")
    (row,) = rows
    document = _json(archive, f"sessions/{row['id']}.json")
    key = {"app_name": row["app_name"], "user_id": user_pk, "key": row["key"]}
    if Session.objects.filter(pk=UUID(row["id"])).exists() or Session.objects.filter(**key).exists():
        raise ConflictError(f"There is a session '{row['key']}' already: erase it before its import.")
    state = ScopedState.split(document["state"])
    with transaction.atomic():
        own = {name: row[name] for name in ("initial_state", "title", "title_source")}
        session = Session.objects.create(pk=UUID(row["id"]), **key, **own, state=state.session)
        befores = {line["seq"]: line for line in _json(archive, "before.json")}
        # One after the other: the hash of an event continues the chain of the event before, in a trigger.
        for number, body in enumerate(document["events"], start=1):
            _insert_event(session.pk, body, befores.get(number, {}).get("before"))
        # The row exists: a trigger makes it with the session. Locked: the user's other sessions may write to it.
        shared = UserState.objects.select_for_update().get(app_name=session.app_name, user_id=user_pk)
        # Stored values win: the user's other sessions have used them since the export.
        shared.state = {**state.user, **shared.state}
        shared.save(update_fields=["state"])
        _store_files(archive, session)
        session.refresh_from_db()
        is_masked = any(line["is_masked"] for line in [row, *befores.values()])
        doubt = _reason_for_doubt(session, row["log_sha256"], is_masked=is_masked)
        if doubt and not allow_unverified:
            raise ConflictError(f"{doubt} --unverified accepts the archive.")
        # The original times: lists and retention count from the last use.
        times = {name: row[name] for name in ("created_at", "updated_at")}
        Session.objects.filter(pk=session.pk).update(**times, last_event_at=row["updated_at"])
        SessionFigures.objects.create(session=session)  # for the next sweep, which reads recent sessions only
        _record(session, doubt)
    return Imported(session, doubt)


def _reason_for_doubt(session: Session, log_hash: str, *, is_masked: bool) -> str:
    imported = Session.objects.filter(pk=session.pk).annotate(log_sha256=HASH_OF_BODIES)
    if imported.values_list("log_sha256", flat=True).get() != log_hash:
        return f"The events do not match the hash of the original log, {log_hash}: values were masked or changed."
    # The hash covers the events only. Masked values may also be in the initial state, or in state that other
    # sessions wrote.
    if is_masked:
        return f"The state has {MASK} in place of values: the export left the original ones out."
    return ""


def _insert_event(session_pk: UUID, body: Any, before: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT,
            {
                "session": session_pk,
                "body": json.dumps(body),
                "before": None if before is None else json.dumps(before),
            },
        )


# Inserts an event as the append statement does, but without a lease: no other process knows the session yet.
_INSERT = """
WITH given AS MATERIALIZED (SELECT %(body)s::jsonb AS body, %(before)s::jsonb AS before), s AS (
    UPDATE sessions_app_session t SET last_seq = last_seq + 1
    FROM given WHERE t.id = %(session)s RETURNING t.id, t.last_seq, given.body, given.before
)
INSERT INTO sessions_app_event (session_id, seq, body, before) SELECT s.id, s.last_seq, s.body, s.before FROM s
"""


def _store_files(archive: ZipFile, session: Session) -> None:
    rows = _json(archive, "artifacts.json")
    size = 0
    for row in rows:
        if not row["path"]:
            raise InvalidInputError(
                f"The archive lacks the file '{row['filename']}', which was missing before."
            )
        size += archive.getinfo(row["path"]).file_size
    check_artifact_size(session.user_id, size)
    for row in rows:
        fields = {name: row[name] for name in FILE_FIELDS}
        with archive.open(row["path"]) as file:
            Artifact.objects.create(
                app_name=session.app_name,
                user_id=session.user_id,
                session=session,
                file=File(file, name="x"),
                **fields,
            )


def _record(session: Session, doubt: str) -> None:
    reason = "Imported; its log is the original one."
    if doubt:
        reason = f"Imported unverified. {doubt}"
    act = Act(SITE, ActionKind.ADD, ("session", str(session.pk)), reason)
    SessionAct.objects.record(session.pk, act)

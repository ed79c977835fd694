"""Eval sets in the directory of an app's agents. In development they are written there, as google-adk does.

A writer reads the set, changes it and replaces the file, all under a lock of the directory: two writers at once both
keep their changes, and a process that dies leaves the old file or the new one.
"""

import fcntl
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils import timezone

from runtime.errors import EvaluationError
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import MAX_ID_LENGTH, check_eval_set, load_eval_set
from runtime.valid_text import storable_values
from sessions_app.conf import conf
from sessions_app.contrib.evaluation.sources import SUFFIX, directory_of
from sessions_app.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    TooLargeError,
)

logger = logging.getLogger(__name__)
MAX_BYTES = 10 * 1024**2
"""Maximum size of a file that the site writes: each request for a set reads all files of the directory."""
_NEW_FILE = ".evalset.tmp"
_SET_ID = re.compile(rf"[A-Za-z0-9_]{{1,{MAX_ID_LENGTH}}}")


def read_sets(app_name: str) -> dict[str, tuple[Path, EvalSet]]:
    """Return the sets in the directory of the app's agents, with their files, by id.

    Invalid files are logged and left out.
    """
    folder = directory_of(app_name)
    found: dict[str, tuple[Path, EvalSet]] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder else []:
        try:
            eval_set = load_eval_set(path, may_be_empty=True)
        except EvaluationError as error:
            logger.warning("An eval set is left out: %s", error)
        else:
            found[eval_set.eval_set_id] = (path, eval_set)
    return found


def create_set(app_name: str, set_id: str) -> EvalSet:
    """Create a set without cases.

    Raises:
        InvalidInputError: the id cannot be the name of a file, or there is such a set.
        Others as `_writing`.
    """
    if not _SET_ID.fullmatch(set_id):
        raise InvalidInputError(
            f"An eval set has 1 to {MAX_ID_LENGTH} letters, digits and underscores as its id.",
            field="evalSet.eval_set_id",
        )
    with _writing(app_name) as folder:
        path = folder / f"{set_id}{SUFFIX}"
        if set_id in read_sets(app_name) or path.exists():
            raise InvalidInputError(f"There is already an eval set {set_id!r}.", field="evalSet.eval_set_id")
        created = EvalSet(
            eval_set_id=set_id, name=set_id, eval_cases=[], creation_timestamp=timezone.now().timestamp()
        )
        _replace(path, created)
    return created


def delete_set(app_name: str, set_id: str) -> None:
    """Delete the file of a set. Raise as `changed_set`."""
    with _writing(app_name):
        path, _ = _find(app_name, set_id)
        path.unlink()


@contextmanager
def changed_set(app_name: str, set_id: str) -> Iterator[EvalSet]:
    """Yield a set, and write it after the block has changed its cases.

    Raises:
        NotFoundError: no file has such a set.
        EvaluationError: the changed set is invalid; nothing is written.
        TooLargeError: the changed set is too large; nothing is written.
        Others as `_writing`.
    """
    with _writing(app_name):
        path, eval_set = _find(app_name, set_id)
        yield eval_set
        check_eval_set(eval_set, may_be_empty=True)
        _replace(path, eval_set)


@contextmanager
def _writing(app_name: str) -> Iterator[Path]:
    """Yield the directory of the app's agents, locked for all processes of this machine.

    Raises:
        PermissionDeniedError: the site is not in development, or knows no directory of the app.
        ConflictError: the directory cannot be written.
    """
    folder = directory_of(app_name)
    if folder is None or not conf().reload_agents:
        raise PermissionDeniedError(
            'Eval sets are written into the directory of the agents, in development only: ADK["reload_agents"].'
        )
    try:
        directory = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)  # until it is closed
            yield folder
        finally:
            os.close(directory)
    except OSError as error:
        raise ConflictError(f"The eval set cannot be written beside the agents: {error.strerror}.") from error


def _find(app_name: str, set_id: str) -> tuple[Path, EvalSet]:
    found = read_sets(app_name).get(set_id)
    if found is None:
        raise NotFoundError(
            f"There is no file with an eval set {set_id!r} beside the agents of {app_name!r}."
        )
    return found


def _replace(path: Path, eval_set: EvalSet) -> None:
    values = eval_set.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    content = json.dumps(storable_values(values), ensure_ascii=False, indent=2).encode() + b"\n"
    if len(content) > MAX_BYTES:
        raise TooLargeError("The eval set would have more than 10 MB. Begin another set.")
    # No set has this name, and the lock keeps other writers away: what a dead process left is overwritten.
    new = path.with_name(_NEW_FILE)
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)

"""Read eval sets and criteria from JSON. Error messages name the field."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from runtime.errors import EvaluationError
from runtime.evaluation.eval_config import DEFAULT_CONFIG, EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.old_format import OldSession, read_old_set

MAX_CASES = 1_000
MAX_ID_LENGTH = 200
CONFIG_NAME = "test_config.json"
M = TypeVar("M", bound=BaseModel)


def load_eval_set(
    path: Path, initial_session: OldSession | None = None, *, may_be_empty: bool = False
) -> EvalSet:
    """Return the eval set in a file; a list in google-adk's oldest format gets the name of the file.

    Args:
        initial_session: session of a list of turns.
        may_be_empty: True for a set to be shown or changed; one without cases cannot be run.

    Raises:
        EvaluationError: the file is unreadable, or the set cannot be run; the message names file and field.
    """
    found = _load(path, lambda text: _read_set(path, text, initial_session))
    try:
        check_eval_set(found, may_be_empty=may_be_empty)
    except EvaluationError as error:
        raise EvaluationError(f"{path}: {error}") from error
    return found


def check_eval_set(found: EvalSet, *, may_be_empty: bool = False) -> None:
    """Check that the set can be run, or could be if it had cases.

    Raises:
        EvaluationError: the set cannot be run; the message names the field.
    """
    least = 0 if may_be_empty else 1
    if not least <= len(found.eval_cases) <= MAX_CASES:
        raise EvaluationError(f"eval_cases: a set has 1 to {MAX_CASES} cases, not {len(found.eval_cases)}.")
    _check_id("eval_set_id", found.eval_set_id)
    known: set[str] = set()
    for number, case in enumerate(found.eval_cases):
        _check_id(f"eval_cases.{number}.eval_id", case.eval_id)
        if case.eval_id in known:
            raise EvaluationError(
                f"eval_cases.{number}.eval_id: another case is called {case.eval_id!r}. Rename one."
            )
        known.add(case.eval_id)
        if not case.conversation and not case.conversation_scenario:
            raise EvaluationError(f"eval_cases.{number}.conversation: the case has no message. Write one.")


def load_eval_config(path: Path) -> EvalConfig:
    """Return the criteria in a file.

    Raises:
        EvaluationError: the file is unreadable; the message names file and field.
    """
    return _load(path, EvalConfig.model_validate_json)


def load_session(path: Path) -> OldSession:
    """Return the session for a list of turns.

    Raises:
        EvaluationError: the file is unreadable; the message names file and field.
    """
    return _load(path, OldSession.model_validate_json)


def config_beside(folder: Path) -> EvalConfig:
    """Return the criteria of a folder's `test_config.json`, or the defaults. Raises as `load_eval_config` does."""
    path = folder / CONFIG_NAME
    return load_eval_config(path) if path.exists() else DEFAULT_CONFIG


def sentence_of(error: ValidationError, *place: str) -> str:
    """Return the first problem as a sentence, beginning with the path of the field."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = ".".join(map(str, [*place, *first["loc"]]))
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    if first["type"] == "extra_forbidden":
        reason = "there is no such field. Correct its name, or delete it"
    return f"{path}: {reason}." if path else f"{reason}."


def _read_set(path: Path, text: bytes, initial_session: OldSession | None) -> EvalSet:
    if text.lstrip().startswith(b"["):
        name = path.name.removesuffix(".json").removesuffix(".test").removesuffix(".evalset")
        return read_old_set(name, TypeAdapter(list[Any]).validate_json(text), initial_session)
    return EvalSet.model_validate_json(text)


def _load(path: Path, read: Callable[[bytes], M]) -> M:
    try:
        return read(path.read_bytes())
    except FileNotFoundError as error:
        raise EvaluationError(f"There is no file '{path}'.") from error
    except OSError as error:
        raise EvaluationError(f"'{path}' cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise EvaluationError(f"{path}: {sentence_of(error)}") from error
    except ValueError as error:
        # For example a path with a NUL character.
        raise EvaluationError(f"{str(path)!r} is no path: {error}.") from error


def _check_id(field: str, value: str) -> None:
    # PostgreSQL stores no NUL characters in text.
    if not 1 <= len(value) <= MAX_ID_LENGTH or "\0" in value:
        raise EvaluationError(f"{field}: an id has 1 to {MAX_ID_LENGTH} characters, none of which is NUL.")

"""Sentences and source lines for errors of loading an agent module."""

import traceback
from pathlib import Path

from pydantic import ValidationError

from runtime.errors import AdkError


def reason_of(error: BaseException) -> str:
    """Return an error as one sentence; errors of other libraries get their class name as prefix."""
    if isinstance(error, ValidationError):
        sentences = []
        for detail in error.errors():
            path = ".".join([error.title, *map(str, detail["loc"])])
            sentences.append(f"{path}: {detail['msg'].removeprefix('Value error, ')}")
        return "; ".join(sentences)
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    if isinstance(error, AdkError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def line_of(error: BaseException, directory: Path) -> str | None:
    """Return "line N of FILE" for the innermost line of a file in the directory; None if there is none."""
    # A SyntaxError has the place as attributes: no frame of the file is in its traceback.
    if isinstance(error, SyntaxError) and error.filename and _is_below(error.filename, directory):
        return f"line {error.lineno} of {error.filename}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_below(frame.filename, directory)]
    return f"line {own[-1].lineno} of {own[-1].filename}" if own else None


def _is_below(file: str, directory: Path) -> bool:
    return Path(file).is_relative_to(directory)

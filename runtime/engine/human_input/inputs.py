"""Answers to the questions of workflow nodes (`RequestInput`): they must fit the schema that the question has stored.

A wrong answer is refused before it is stored, so the question stays open. Stored, it would fail the node in each later
run.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema, from_json
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from runtime import types
from runtime.errors import InvalidAnswerError
from runtime.events.calls import REQUEST_INPUT, find_request, unwrapped
from runtime.events.event import Event
from runtime.valid_text import shortened

_MAX_ERRORS = 100
_MAX_PROBLEM_CHARACTERS = 300
_UNREADABLE = "it is nested too deeply, or has a number that is NaN, infinite or too large"


def check_inputs(message: types.Content, events: Sequence[Event]) -> None:
    """Check the answers of a message to questions of nodes.

    An answer to no recorded question is not checked, nor is one to a model's own call of the same name.

    Raises:
        InvalidAnswerError: an answer does not fit the schema of its question.
    """
    for part in message.parts or []:
        response = part.function_response
        if response is None or response.name != REQUEST_INPUT:
            continue
        problem = _problem(unwrapped(response.response), _asked_schema(response, events))
        if problem is not None:
            sentence = shortened(problem, _MAX_PROBLEM_CHARACTERS)
            raise InvalidAnswerError(
                f"The answer does not fit the question: {sentence}. Answer it once more."
            )


def _asked_schema(response: types.FunctionResponse, events: Sequence[Event]) -> Any:
    question = find_request(events, response)
    if question is None:
        return None
    return (question.args or {}).get("response_schema")


def _problem(value: Any, schema: Any) -> str | None:
    """Return why the value does not fit the schema, or None.

    None as the value is no answer: the node ends without an output.
    """
    if value is None or not isinstance(schema, dict):
        return None
    if not _has_plain_numbers(value):
        return _UNREADABLE
    try:
        Draft202012Validator.check_schema(schema)
        # With its own registry, jsonschema would fetch the address in a `$ref`.
        error = _error(value, _AnswerValidator(schema, registry=EMPTY_REGISTRY))
    except (SchemaError, Unresolvable, ValueError):
        # A node may store any dict as a schema: one that cannot be used is not enforced. The numbers are plain, so a
        # ValueError comes from the schema, such as from an address in it.
        return None
    except (OverflowError, RecursionError):
        return _UNREADABLE
    return error.message if error else None


def _has_plain_numbers(value: Any) -> bool:
    """Return False if the value contains NaN, an infinity, or an integer with more digits than Python writes.

    A validator would accept them, or raise a ValueError.
    """
    try:
        json.dumps(value, allow_nan=False, default=str)
    except (ValueError, RecursionError):
        return False
    return True


def _error(value: Any, validator: Validator) -> ValidationError | None:
    """Return the error of the value, or None. A text may also be the JSON of a value that fits."""
    error = _best_error(value, validator)
    if error is None or not isinstance(value, str):
        return error
    try:
        # As the node that follows reads the text.
        read_value = from_json(value, allow_inf_nan=False)
    except (TypeError, ValueError):
        return error
    if not _has_plain_numbers(read_value):
        return error
    error_of_read = _best_error(read_value, validator)
    # About the text "123", too short a postcode, "123 is not of type 'string'" would mislead.
    if error_of_read is None or error.validator == "type":
        return error_of_read
    return error


def _best_error(value: Any, validator: Validator) -> ValidationError | None:
    # A long list may have an error for each item.
    errors = islice(validator.iter_errors(value), _MAX_ERRORS)
    error: ValidationError | None = best_match(errors)
    return error


def _check_pattern(validator: Validator, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    """Check a text by pydantic's expressions: their time grows with its length, and `re` may take for ever."""
    if not isinstance(value, str):
        return
    try:
        is_match = _compile_pattern(pattern).isinstance_python(value)
    except PatternError:
        # They have no look-around.
        is_match = re.search(pattern, value) is not None
    if not is_match:
        yield ValidationError(f"{value!r} does not match {pattern!r}")


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern))


_AnswerValidator = extend(  # type: ignore[no-untyped-call]  # the stubs leave its types out
    Draft202012Validator, {"pattern": _check_pattern}
)

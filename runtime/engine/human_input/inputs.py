"""Answers to the questions of workflow nodes (`RequestInput`): they must fit the schema that the question has stored.

A wrong answer is refused before it is stored, so the question stays open. Stored, it would fail the node in each later
run.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from referencing.exceptions import Unresolvable

from runtime import types
from runtime.errors import InvalidAnswerError
from runtime.events.calls import REQUEST_INPUT, find_call_event, unwrapped
from runtime.events.event import Event
from runtime.valid_text import shortened

_MAX_PROBLEM_CHARACTERS = 300


def check_inputs(message: types.Content, events: Sequence[Event]) -> None:
    """Check the answers of a message to questions of nodes. An answer to no recorded question is not checked.

    Raises:
        InvalidAnswerError: an answer does not fit the schema of its question.
    """
    for part in message.parts or []:
        response = part.function_response
        if response is None or response.name != REQUEST_INPUT:
            continue
        problem = _problem(unwrapped(response.response), _asked_schema(response, events))
        if problem is not None:
            sentence = shortened(problem.message, _MAX_PROBLEM_CHARACTERS)
            raise InvalidAnswerError(
                f"The answer does not fit the question: {sentence}. Answer it once more."
            )


def _asked_schema(response: types.FunctionResponse, events: Sequence[Event]) -> Any:
    event = find_call_event(events, response.id or "", REQUEST_INPUT)
    for call in event.get_function_calls() if event else ():
        if call.id == response.id and call.name == REQUEST_INPUT:
            return (call.args or {}).get("response_schema")
    return None


def _problem(value: Any, schema: Any) -> ValidationError | None:
    """Return why the value does not fit the schema, or None. A text may also be the JSON of a value that fits.

    None is no answer: the node ends without an output.
    """
    if value is None or not isinstance(schema, dict):
        return None
    with suppress(
        SchemaError, Unresolvable
    ):  # A node may store any dict as a schema: others are not enforced.
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        problem: ValidationError | None = best_match(validator.iter_errors(value))
        if problem is not None and isinstance(value, str):
            with suppress(ValueError):
                problem = best_match(validator.iter_errors(json.loads(value)))
        return problem
    return None

"""Bodies of requests: JSON objects as RFC 8259 has them, under their content type."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, NoReturn

from django.http import HttpRequest
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

MAX_DIGITS = 4_300
"""Digits of an integer: Python refuses longer ones with advice for programmers."""


class JsonParser(Parser):
    """Parser that refuses other content types, values that are no objects, and numbers that JSON lacks, such as `NaN`.

    django-ninja's own parser takes any other value for an object without fields.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the value of the body; `problems` answers the errors, which django-ninja wraps."""
        if request.content_type != "application/json":
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.")
        return _object(json.loads(request.body, parse_constant=_refuse, parse_int=_integer))


class AdkParser(Parser):
    """Parser as google-adk's server has it: under any content type, an object, or null in place of no body."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the value of the body; `problems` answers the errors, which django-ninja wraps."""
        value = json.loads(request.body, parse_int=_integer)
        return None if value is None else _object(value)


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValidationError([{"loc": ("body",), "msg": "Input should be an object"}])
    return value


def _integer(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_DIGITS:
        raise ValueError(f"an integer has more than {MAX_DIGITS} digits")
    return int(digits)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")

"""Bodies of requests: JSON as RFC 8259 has it, under its content type."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, NoReturn

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.parser import Parser


class JsonParser(Parser):
    """Parser that refuses other content types, and numbers that JSON has not."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the value of the body; `problems` answers the errors, which django-ninja wraps."""
        if request.content_type != "application/json":
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.")
        return json.loads(request.body, parse_constant=_refuse)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")

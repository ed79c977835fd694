"""Parsers of request bodies: JSON objects by RFC 8259."""

import json
import re
from http import HTTPStatus
from typing import Any, NoReturn, TypeVar

import pydantic
from django.http import HttpRequest, JsonResponse
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

M = TypeVar("M", bound=pydantic.BaseModel)
MAX_DIGITS = 4_300
"""Maximum number of digits of an integer. Python refuses longer integers, with a message for programmers."""


_PARSE_ERROR = -32700
"""JSON-RPC code for a body that cannot be read."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class JsonParser(Parser):
    """Refuse other content types, values that are no objects, and numbers unknown to JSON, such as `NaN`."""

    # django-ninja's own parser takes a list or a text for an object without fields.

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the object in the body. Errors become problem details in `access/problems.py`."""
        if request.content_type != "application/json":
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.")
        return _object(json.loads(request.body, parse_constant=_refuse, parse_int=_integer))


class AdkParser(Parser):
    """Accept the same bodies as google-adk's server: any content type, an object, or null for no body."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the object in the body, or None. Errors become problem details in `access/problems.py`."""
        value = json.loads(request.body, parse_int=_integer)
        return None if value is None else _object(value)


def refusal_of_json_rpc(body: bytes, status: HTTPStatus) -> JsonResponse | None:
    """Return the response to a body of JSON-RPC that cannot be read; None for the bodies that its servers answer."""
    reason = _reason_unreadable(body)
    if not reason:
        return None
    error = {"code": _PARSE_ERROR, "message": reason}
    return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status=status)


def _reason_unreadable(body: bytes) -> str:
    """Return a reason to refuse the body of JSON-RPC; empty for usable JSON, and for errors that its servers report."""
    try:
        value = json.loads(body)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return ""
    except (ValueError, RecursionError):  # The SDKs of A2A and MCP would report an internal error.
        return "The request is nested too deeply, or has a number with too many digits."
    try:
        # Responses repeat texts of the request, and no response can hold half a surrogate pair. The search spares most
        # requests the second pass.
        json.dumps(value if _SURROGATE.search(body) else None, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "A text of the request holds half a surrogate pair."
    return ""


def parse_model(model: type[M], body: bytes) -> M:
    """Return the object in the body of a request that django-ninja does not serve.

    Raises:
        ValidationError: the body is no JSON, or not of the model; it names the fields.
    """
    try:
        return model.model_validate_json(body)
    except pydantic.ValidationError as error:
        raise ValidationError(
            [{"loc": ("body", "ask", *one["loc"]), "msg": one["msg"]} for one in error.errors()]
        ) from None


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

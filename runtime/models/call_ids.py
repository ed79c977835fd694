"""Ids of function calls, for providers that require one for each call."""

from __future__ import annotations

import re

from runtime import types

_VALID_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class CallIds:
    """Gives each call of a request an id of its own, and each response the id of its call.

    An id that is missing, used before or not valid for all providers is replaced: another model may have made the
    call. A response belongs to the earliest open call of the same function with the same id, or with no id either.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._open: list[tuple[types.FunctionCall, str]] = []

    def of_call(self, call: types.FunctionCall) -> str:
        call_id = call.id or ""
        if not _VALID_ID.fullmatch(call_id) or call_id in self._used:
            call_id = f"call_{len(self._used) + 1}"
            while call_id in self._used:
                call_id += "_"
        self._used.add(call_id)
        self._open.append((call, call_id))
        return call_id

    def of_response(self, response: types.FunctionResponse) -> str | None:
        """Return the id of the response's call; None when the contents have no such call."""
        for index, (call, call_id) in enumerate(self._open):
            if call.id == response.id and call.name == response.name:
                del self._open[index]
                return call_id
        return None

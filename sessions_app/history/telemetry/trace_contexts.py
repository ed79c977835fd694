"""Ids of an invocation's trace: one set for its spans, for the requests of its tools, and for the program that asked.

A request with a `traceparent` for an invocation makes its spans a part of the trace of the program; it is stored with
the invocation. Without one, the ids derive from the invocation's id: its jobs, in other processes, join the same trace.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from sessions_app.conf import conf
from sessions_app.models import Invocation

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}")


@dataclass(frozen=True)
class InvocationTrace:
    """Ids of a trace.

    Attributes:
        span_id: span of the invocation's attempt.
        parent_id: span of the program that asked for the invocation; 0 without one.
    """

    trace_id: int
    span_id: int
    parent_id: int = 0

    @property
    def traceparent(self) -> str:
        """The header of requests to other systems."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-01"


def is_traceparent(text: str) -> bool:
    """True if the trace context has ids; a wrong header counts as none."""
    return _TRACEPARENT.fullmatch(text) is not None


def find_trace(invocation_id: str, attempt: int = 1) -> InvocationTrace | None:
    """Return the trace of an attempt at an invocation; None when the site exports no spans."""
    if not conf().otlp_endpoint:
        return None
    stored = (
        Invocation.objects.filter(invocation_id=invocation_id).values_list("traceparent", flat=True).first()
    )
    span_id = int.from_bytes(_derived(f"{invocation_id} {attempt}")[:8])
    given = _TRACEPARENT.fullmatch(stored or "")
    if given is None:
        return InvocationTrace(int.from_bytes(_derived(invocation_id)[:16]), span_id)
    return InvocationTrace(int(given[1], 16), span_id, int(given[2], 16))


def _derived(name: str) -> bytes:
    return sha256(name.encode()).digest()

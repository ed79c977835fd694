"""The W3C trace context of the running work: requests to other systems carry it, so their spans join its trace.

Whoever runs the work sets it; without it nothing is sent. See https://www.w3.org/TR/trace-context/.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_traceparent: ContextVar[str] = ContextVar("traceparent", default="")


@contextmanager
def trace_context(traceparent: str) -> Iterator[None]:
    """Let requests in this block carry the trace context; nothing if it is empty."""
    token = _traceparent.set(traceparent)
    try:
        yield
    finally:
        _traceparent.reset(token)


def trace_headers() -> dict[str, str]:
    """Return the headers for a request to another system; empty outside of a trace."""
    traceparent = _traceparent.get()
    return {"traceparent": traceparent} if traceparent else {}

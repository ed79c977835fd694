"""Progress of a tool call, from the tool to the code that displays it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ProgressReceiver = Callable[[float, float, str], None]

_receiver: ContextVar[ProgressReceiver | None] = ContextVar("receiver of progress", default=None)


@contextmanager
def receiving_progress(receiver: ProgressReceiver) -> Iterator[None]:
    """Send the progress of tool calls within the block to `receiver`: amount done, total, message."""
    token = _receiver.set(receiver)
    try:
        yield
    finally:
        _receiver.reset(token)


def progress_receiver() -> ProgressReceiver | None:
    """Return the receiver of this call's progress; None if nothing displays it."""
    return _receiver.get()

"""Celery's soft limit signal, confined to the function of a job: it interrupts nothing after the function."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

from billiard.exceptions import SoftTimeLimitExceeded


class SoftLimit:
    """Context manager around a job: the soft limit signal raises SoftTimeLimitExceeded only inside `interrupts`.

    Celery's own handler raises anywhere. If the cancelled function has just ended by itself, it would interrupt the
    write of the outcome, and the job would stay `running` until the sweep finds it lost.
    """

    def __init__(self) -> None:
        self._is_due = False
        self._may_raise = False

    def __enter__(self) -> "SoftLimit":
        # Python runs signal handlers in the main thread only, and refuses to set a handler in another thread.
        self._is_installed = threading.current_thread() is threading.main_thread()
        if self._is_installed:
            self._handler_before = signal.signal(signal.SIGUSR1, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_installed:
            signal.signal(signal.SIGUSR1, self._handler_before)

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """Let the signal raise in this block. An earlier signal raises at the beginning of the block.

        Raises:
            SoftTimeLimitExceeded: the job was cancelled or exceeded its soft time limit.
        """
        self._may_raise = True
        try:
            if self._is_due:
                raise SoftTimeLimitExceeded
            yield
        finally:
            self._may_raise = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._is_due = True
        if self._may_raise:
            self._may_raise = False  # a second signal must not raise while the first exception is handled
            raise SoftTimeLimitExceeded

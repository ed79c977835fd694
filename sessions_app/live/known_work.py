"""KnownWork: the open work of a session that a tab or program has been told of."""

from __future__ import annotations

from sessions_app.db.event_log import SessionStatus
from sessions_app.live.frames import JobFrame, Notice
from sessions_app.statuses import JobStatus


class KnownWork:
    """Active invocations and jobs, and jobs that wait for an answer. Finds out when notices were lost."""

    def __init__(self) -> None:
        self._active: set[str] = set()
        self._waiting: set[str] = set()
        self._last_status: SessionStatus | None = None
        self._has_noted = False

    def read(self, status: SessionStatus) -> None:
        """Take the work in a status that is sent to the tab or program."""
        self._active, self._waiting = set(status.active), set(status.waiting)

    def note(self, notice: Notice) -> None:
        """Take the change in a notice that is sent to the tab or program."""
        subject, self._has_noted = str(notice.id), True
        self._active.discard(subject)
        self._waiting.discard(subject)
        if notice.is_active:
            self._active.add(subject)
        elif isinstance(notice, JobFrame) and notice.status == JobStatus.WAITING:
            self._waiting.add(subject)

    def has_missed(self, status: SessionStatus) -> bool:
        """True when notices were lost; called with each status of the slow tick.

        Notices were lost when two statuses in a row agree with each other and differ from what is known. One status
        proves nothing: it may be newer than a notice that is on its way. Notices were also lost when the log has grown
        between two idle statuses without a notice.
        """
        last, self._last_status = self._last_status, status
        has_noted, self._has_noted = self._has_noted, False
        if last is None:
            return False
        is_unchanged = (last.active, last.waiting) == (status.active, status.waiting)
        is_known = status.active == self._active and status.waiting == self._waiting
        is_unseen = not status.active and last.last_seq < status.last_seq and not has_noted
        return is_unchanged and (not is_known or is_unseen)

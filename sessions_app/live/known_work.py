"""KnownWork: the open work of a session that a tab or program has been told of."""

from __future__ import annotations

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import JobNotice, Notice
from sessions_app.store.sql.event_log import NO_IDS, SessionStatus


class KnownWork:
    """Active invocations and jobs, and jobs that wait for an answer. Finds out when notices were lost."""

    def __init__(self) -> None:
        self._active = self._waiting = NO_IDS
        self._last_status: SessionStatus | None = None
        self._has_noted = False  # True when a notice has come since the last status.
        self._noted_seq = 0  # Last `seq` of the log when the tab or program was last told of work.

    def replace(self, status: SessionStatus) -> None:
        """Replace the known work by the work of a status, which the tab or program gets."""
        self._active, self._waiting = status.active, status.waiting
        self._noted_seq = status.last_seq

    def note(self, notice: Notice) -> None:
        """Change the known work by a notice, which the tab or program gets."""
        subject, self._has_noted = {str(notice.id)}, True
        is_waiting = isinstance(notice, JobNotice) and notice.status == JobStatus.WAITING
        self._active = self._active | subject if notice.is_active else self._active - subject
        self._waiting = self._waiting | subject if is_waiting else self._waiting - subject

    def has_missed(self, status: SessionStatus) -> bool:
        """True when notices were lost. Call this with each status of the slow tick.

        Notices were lost in two cases:

        - Two statuses in a row agree, and differ from the known work. A single one may be newer than a notice on its
          way.
        - Two statuses in a row have no active work, and the log has grown without a notice: work has begun and ended
          between them.
        """
        last, self._last_status = self._last_status, status
        if self._has_noted:
            self._has_noted, self._noted_seq = False, status.last_seq
        if last is None or (last.active, last.waiting) != (status.active, status.waiting):
            return False
        is_known = status.active == self._active and status.waiting == self._waiting
        return not is_known or (not status.active and self._noted_seq < status.last_seq)

"""KnownWork: the open work of a session, as known to a tab or program from a status and later notices."""

from __future__ import annotations

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import JobNotice, Notice
from sessions_app.store.sql.event_log import NO_IDS, SessionStatus


class KnownWork:
    """Active invocations and jobs, and jobs waiting for an answer. Detects lost notices."""

    def __init__(self) -> None:
        self._active = self._waiting = NO_IDS
        self._last_status: SessionStatus | None = None
        self._has_noted = False  # True when a notice has come since the last status.
        self._noted_seq = 0  # Last `seq` of the log at the last status or notice.

    def replace(self, status: SessionStatus) -> None:
        """Replace the known work by the work of a status, sent to the tab or program."""
        self._active = status.active
        self._waiting = status.waiting
        self._noted_seq = status.last_seq

    def note(self, notice: Notice) -> None:
        """Change the known work by a notice, sent to the tab or program."""
        subject = {str(notice.id)}
        self._has_noted = True
        is_waiting = isinstance(notice, JobNotice) and notice.status == JobStatus.WAITING
        self._active = self._active | subject if notice.is_active else self._active - subject
        self._waiting = self._waiting | subject if is_waiting else self._waiting - subject

    def has_missed(self, status: SessionStatus) -> bool:
        """Return True when notices were lost. Call this with each status of the slow tick.

        Notices were lost in two cases:

        - Two statuses in a row agree, also on the log, and differ from the known work. (A single status may be newer
          than a notice on its way, and a turn may have begun and ended between two statuses.)
        - Two statuses in a row have no active work, and the log has grown without a notice: work has begun and ended in
          between.
        """
        last = self._last_status
        self._last_status = status
        if self._has_noted:
            self._has_noted = False
            self._noted_seq = status.last_seq
        if last is None or (last.active, last.waiting) != (status.active, status.waiting):
            return False
        is_known = status.active == self._active and status.waiting == self._waiting
        if not is_known and last.last_seq == status.last_seq:
            return True
        return not status.active and self._noted_seq < status.last_seq

"""KnownWork: the open work of a session, as known to a tab or program from a status and later notices."""

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import JobNotice, Notice
from sessions_app.store.sql.event_log import NO_IDS, SessionStatus


class KnownWork:
    """Active invocations and jobs, and jobs waiting for an answer. Detects lost notices."""

    def __init__(self) -> None:
        self._active = self._waiting = NO_IDS
        # Ids that differed from the last status, and have had no notice since.
        self._unnoted: set[str] = set()
        self._was_idle = False  # True when the last status had no active work.
        self._has_noted = False  # True when a notice has come since the last status.
        self._noted_seq = 0  # Last `seq` of the log at the last status or notice.

    def replace(self, status: SessionStatus) -> None:
        """Replace the known work by the work of a status, sent to the tab or program."""
        self._active = status.active
        self._waiting = status.waiting
        self._unnoted = set()
        self._noted_seq = status.last_seq

    def note(self, notice: Notice) -> None:
        """Change the known work by a notice, sent to the tab or program."""
        subject = {str(notice.id)}
        self._has_noted = True
        self._unnoted -= subject
        is_waiting = isinstance(notice, JobNotice) and notice.status == JobStatus.WAITING
        self._active = self._active | subject if notice.is_active else self._active - subject
        self._waiting = self._waiting | subject if is_waiting else self._waiting - subject

    def has_missed(self, status: SessionStatus) -> bool:
        """Return True when notices were lost. Call this with each status of the slow tick.

        Notices were lost in two cases:

        - The last status differed from the known work in an invocation or a job, and no notice of it has come since. (A
          single status may be newer than a notice on its way.)
        - Two statuses in a row have no active work, and the log has grown without a notice: work has begun and ended in
          between.
        """
        unnoted = self._unnoted
        was_idle = self._was_idle
        self._unnoted = {*(status.active ^ self._active), *(status.waiting ^ self._waiting)}
        self._was_idle = not status.active
        if self._has_noted:
            self._has_noted = False
            self._noted_seq = status.last_seq
        has_grown = self._noted_seq < status.last_seq
        return bool(unnoted) or (was_idle and not status.active and has_grown)

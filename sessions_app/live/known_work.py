"""KnownWork: the open work of a session, as known to a tab or program from a status and later notices."""

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import JobNotice, Notice
from sessions_app.store.sql.event_log import NO_IDS, SessionStatus

MAX_NOTED = 100
"""Number of ids with a notice that are remembered."""


class KnownWork:
    """Active invocations and jobs, and jobs waiting for an answer. Detects lost notices."""

    def __init__(self) -> None:
        self._active = self._waiting = NO_IDS
        # Ids that differed from the last status, and have had no notice since.
        self._unnoted: set[str] = set()
        self._noted: dict[str, None] = {}  # Ids with a notice, the oldest first.
        # Invocations without a notice whose events were read, and those of them that the last status has found.
        self._silent: set[str] = set()
        self._found_silent: set[str] = set()
        self._status_seq = 0  # Last `seq` of the log at the last `replace`.
        self._was_idle = False  # True when the last status had no active work.
        self._has_noted = False  # True when a notice has come since the last status.
        self._noted_seq = 0  # Last `seq` of the log at the last status or notice.

    def replace(self, status: SessionStatus) -> None:
        """Replace the known work by the work of a status, sent to the tab or program."""
        self._active = status.active
        self._waiting = status.waiting
        self._unnoted = set()
        self._silent = set()
        self._found_silent = set()
        self._status_seq = self._noted_seq = status.last_seq

    def note(self, notice: Notice) -> None:
        """Change the known work by a notice, sent to the tab or program."""
        subject = {str(notice.id)}
        self._has_noted = True
        self._unnoted -= subject
        self._silent -= subject
        self._noted |= dict.fromkeys(subject)
        if len(self._noted) > MAX_NOTED:
            del self._noted[next(iter(self._noted))]
        is_waiting = isinstance(notice, JobNotice) and notice.status == JobStatus.WAITING
        self._active = self._active | subject if notice.is_active else self._active - subject
        self._waiting = self._waiting | subject if is_waiting else self._waiting - subject

    def note_read_event(self, seq: int, invocation_id: str) -> None:
        """Note an event that was read from PostgreSQL because its news was lost or late."""
        is_known = invocation_id in self._active or invocation_id in self._noted
        if seq > self._status_seq and not is_known:
            self._silent.add(invocation_id)

    def has_missed(self, status: SessionStatus) -> bool:
        """Return True when notices were lost. Call this with each status of the slow tick.

        Notices were lost in three cases:

        - The last status differed from the known work in an invocation or a job, and no notice of it has come since. (A
          single status may be newer than a notice on its way.)
        - Two statuses in a row have no active work, and the log has grown without a notice: work has begun and ended in
          between.
        - An event read before the last status belongs to an invocation that has had no notice since: the invocation has
          begun and ended, while later work had notices.
        """
        unnoted = self._unnoted
        was_idle = self._was_idle
        self._unnoted = {*(status.active ^ self._active), *(status.waiting ^ self._waiting)}
        self._was_idle = not status.active
        if self._has_noted:
            self._has_noted = False
            self._noted_seq = status.last_seq
        has_grown = self._noted_seq < status.last_seq
        still_silent = self._found_silent & self._silent
        self._found_silent = set(self._silent)
        return bool(unnoted or still_silent) or (was_idle and not status.active and has_grown)

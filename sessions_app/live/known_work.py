"""KnownWork: the open work of a session, as known to a tab or program from a status and later notices."""

from typing import Any

from sessions_app.base.statuses import JobStatus
from sessions_app.live.notices import JobNotice, Notice
from sessions_app.store.sql.event_log import NO_IDS, SessionStatus

MAX_REMEMBERED = 100
"""Number of ids with a notice that are remembered, and of growing texts and events read from PostgreSQL."""


def remember(known: dict[Any, Any], key: Any, value: Any = None) -> None:
    """Set a value, and forget the oldest key beyond `MAX_REMEMBERED`."""
    known[key] = value
    if len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]


class KnownWork:
    """Active invocations and jobs, and jobs waiting for an answer. Detects lost notices."""

    def __init__(self) -> None:
        self._active = self._waiting = NO_IDS
        # Work without a notice: what the last status has found, and what has been read since.
        self._unnoted: set[str] = set()
        self._read_unnoted: set[str] = set()
        self._noted: dict[str, None] = {}  # Ids with a notice, the oldest first.
        self._status_seq = 0  # Last `seq` of the log at the last `replace`.
        self._was_idle = False  # True if the last status had no active work.
        self._has_noted = False  # True if a notice has come since the last status.
        self._noted_seq = 0  # Last `seq` of the log at the last status or notice.

    def replace(self, status: SessionStatus) -> None:
        """Replace the known work by the work of a status, sent to the tab or program."""
        self._active = status.active
        self._waiting = status.waiting
        self._unnoted = set()
        self._read_unnoted = set()
        self._status_seq = self._noted_seq = status.last_seq

    def note(self, notice: Notice) -> None:
        """Change the known work by a notice, sent to the tab or program."""
        subject = {str(notice.id)}
        self._has_noted = True
        self._unnoted -= subject
        self._read_unnoted -= subject
        remember(self._noted, str(notice.id))
        is_waiting = isinstance(notice, JobNotice) and notice.status == JobStatus.WAITING
        self._active = self._active | subject if notice.is_active else self._active - subject
        self._waiting = self._waiting | subject if is_waiting else self._waiting - subject

    def note_read_event(self, seq: int, invocation_id: str) -> None:
        """Note an event that was read from PostgreSQL because its news was lost or late."""
        is_known = invocation_id in self._active or invocation_id in self._noted
        if seq > self._status_seq and not is_known:
            self._read_unnoted.add(invocation_id)

    def has_missed(self, status: SessionStatus) -> bool:
        """Return True if notices were lost. Call this with each status of the slow tick.

        Notices were lost in two cases:

        - Work without a notice was found by the last status, and has had no notice since. (The notice of new work may
          still be on its way.) Such work is an invocation or a job that is in the status and not known or the other way
          round, or an invocation that was not known and had events read: it has begun and ended.
        - Two statuses in a row have no active work, and the log has grown without a notice.
        """
        missed = bool(self._unnoted)
        was_idle = self._was_idle
        self._unnoted = {
            *(status.active ^ self._active),
            *(status.waiting ^ self._waiting),
            *self._read_unnoted,
        }
        self._read_unnoted = set()
        self._was_idle = not status.active
        if self._has_noted:
            self._has_noted = False
            self._noted_seq = status.last_seq
        has_grown = self._noted_seq < status.last_seq
        return missed or (was_idle and not status.active and has_grown)

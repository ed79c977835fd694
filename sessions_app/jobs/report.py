"""Reporter thread of a running job: writes progress and heartbeats, and reads cancel requests.

The function of a job may block for minutes, so a thread writes for it. `progress` only stores values in memory; every
`TICK_SECONDS` the thread writes changed values, with the heartbeat, and reads whether the job was cancelled or claimed
by a later attempt.
"""

import logging
import re
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from types import TracebackType
from typing import Any

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from runtime import types
from runtime.valid_text import storable
from sessions_app.jobs.api import AnswerRequired, JobCancelled, current_job
from sessions_app.jobs.questions import JobAnswer, JobQuestion
from sessions_app.live.notices import job_notice
from sessions_app.live.publish import publish_notice_from_thread
from sessions_app.models import ToolJob
from sessions_app.process import threads
from sessions_app.secrets.masking import beginning_of
from sessions_app.store.artifact_service import DjangoArtifactService

logger = logging.getLogger(__name__)
TICK_SECONDS = 0.25
HEARTBEAT_SECONDS = 5.0
MAX_PHASES = 30
MAX_PHASE_NAME_LENGTH = 200
NUMBER = re.compile(r"\d+")


class JobReporter:
    """Context manager around the function of a job. The functions of `jobs.api` find it in a context variable.

    Progress is written at most once in `TICK_SECONDS`; the last value is always written.
    """

    def __init__(self, job: ToolJob) -> None:
        self._job = job
        self._unused_answers = list(job.answers)
        self._lock = threading.Lock()
        self._has_changed = False
        self._is_cancelled = False
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._report_until_stopped, name=f"report job {job.id}", daemon=True
        )

    def __enter__(self) -> "JobReporter":
        self._token = current_job.set(self)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        current_job.reset(self._token)
        self._stop.set()
        self._thread.join()

    def progress(self, done: float, total: float, message: str) -> None:
        """Record the progress for the next write. Infinite numbers and NaN make the progress indeterminate.

        Raises:
            JobCancelled: the job was cancelled, or a later attempt has claimed it.
        """
        if self._is_cancelled:
            raise JobCancelled
        is_finite = isfinite(done) and isfinite(total)
        text = beginning_of(storable(message), 500)
        with self._lock:
            self._job.progress_done = float(done) if is_finite else 0.0
            self._job.progress_total = float(total) if is_finite else 0.0
            self._job.progress_message = text
            self._job.phases = with_phase(self._job.phases, text, timezone.now())
            self._has_changed = True

    def save_artifact(self, filename: str, artifact: types.Part) -> int:
        """Save a file in the session of the job and record its version in the job."""
        version = threads.run(
            DjangoArtifactService().save_artifact(
                **self._job.session.runtime_args,
                filename=filename,
                artifact=artifact,
            )
        )
        self.record_artifact(filename, version)
        return version

    def record_artifact(self, filename: str, version: int) -> None:
        """Record a file saved by the job's code."""
        with self._lock:
            self._job.artifacts = {**self._job.artifacts, filename: version}
            self._has_changed = True

    def ask(self, question: JobQuestion) -> JobAnswer:
        """Return the first unused answer to this question. A question may be asked twice, with two answers.

        Raises:
            AnswerRequired: the question has no unused answer.
            JobCancelled: the job was cancelled, or a later attempt has claimed it.
        """
        if self._is_cancelled:
            raise JobCancelled
        for index, answered in enumerate(self._unused_answers):
            if question.equals(answered):
                answer: JobAnswer = self._unused_answers.pop(index)["answer"]
                return answer
        raise AnswerRequired(question)

    def _report_until_stopped(self) -> None:
        last_heartbeat = time.monotonic()
        while not self._stop.wait(TICK_SECONDS):
            is_due = time.monotonic() - last_heartbeat > HEARTBEAT_SECONDS
            if (self._has_changed or is_due) and self._try_write():
                last_heartbeat = time.monotonic()
        if self._has_changed:
            self._try_write()
        connection.close()

    def _try_write(self) -> bool:
        try:
            self._write()
        except Exception:  # PostgreSQL may be away for a moment. The next tick tries again.
            logger.warning(
                "The progress of job %s could not be written",
                self._job.pk,
                exc_info=True,
                extra={"job_id": str(self._job.pk)},
            )
            connection.close()  # Django opens a new connection at the next write.
            self._has_changed = True
            return False
        return True

    def _write(self) -> None:
        job = self._job
        with self._lock:
            self._has_changed = False
            values = progress_columns(job)
        is_current = ToolJob.objects.of_attempt(job).update(heartbeat_at=Now(), **values)
        row = ToolJob.objects.filter(pk=job.pk).values_list("cancel_requested_at", "attempts").first()
        self._is_cancelled = row is None or row[0] is not None or row[1] != job.attempts
        if is_current:
            publish_job(job)


def progress_columns(job: ToolJob) -> dict[str, Any]:
    """Return the columns that a running function has changed in memory, for the next write."""
    names = ("progress_done", "progress_total", "progress_message", "phases", "artifacts")
    return {name: getattr(job, name) for name in names}


def with_phase(phases: list[dict[str, Any]], message: str, now: datetime) -> list[dict[str, Any]]:
    """Return the phases of a job after a message of its progress.

    A message that differs from the latest phase only in numbers, such as "Page 7", renames this phase. Any other
    message begins a phase, up to `MAX_PHASES`.
    """
    name = beginning_of(message, MAX_PHASE_NAME_LENGTH)
    if not name or (phases and phases[-1]["name"] == name):
        return phases
    if phases and (len(phases) == MAX_PHASES or _has_same_words(phases[-1], name)):
        return [*phases[:-1], {**phases[-1], "name": name}]
    return [*phases, {"name": name, "at": now.isoformat()}]


def _has_same_words(phase: Mapping[str, Any], name: str) -> bool:
    return NUMBER.sub("0", phase["name"]) == NUMBER.sub("0", name)


def publish_job(job: ToolJob) -> None:
    """Show the job in the open tabs of its session."""
    publish_notice_from_thread(job.session_id, job_notice(job))

"""Client ids of invocations: whoever asks for an invocation names it, so that asking twice starts it once.

Browsers make the ids of messages. Those that the site makes begin with a word of their own, which no browser may use.
"""

from __future__ import annotations

from uuid import UUID

ANSWER = "answer:"
JOB = "job:"
RETRY = "retry:"
SCHEDULE = "schedule:"
UNDONE = "undone:"

OF_THE_SITE = (ANSWER, JOB, RETRY, SCHEDULE, UNDONE)
MUST_NOT_BE_LOST = (ANSWER, JOB, SCHEDULE)
"""What a newer message does not interrupt while it is queued."""


def is_of_the_site(client_id: str) -> bool:
    """Whether a browser may not use it."""
    return client_id.startswith(OF_THE_SITE)


def of_answer(call_id: str) -> str:
    """A person's answer to a call: the first one counts."""
    return f"{ANSWER}{call_id}"


def of_job(job_id: UUID) -> str:
    """A job's answer to its call."""
    return f"{JOB}{job_id}"


def of_retry(invocation_id: str) -> str:
    """A message that is sent once more, since its agents cannot go on."""
    return f"{RETRY}{invocation_id}"


def of_schedule(task_id: int, run: int | str) -> str:
    """A run of a scheduled task."""
    return f"{SCHEDULE}{task_id}:{run}"

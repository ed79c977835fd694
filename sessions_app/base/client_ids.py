"""Client ids: idempotency keys of invocations. A repeated request with the same id starts no second invocation.

A browser makes the ids of its messages. The site's own ids have a reserved prefix: otherwise a browser could send a
message under the id of a job's result, and the result would count as a repetition.
"""

from uuid import UUID

from sessions_app.errors import InvalidInputError

ANSWER = "answer:"
JOB = "job:"
RETRY = "retry:"
SCHEDULE = "schedule:"
UNDONE = "undone:"

SITE_PREFIXES = (ANSWER, JOB, RETRY, SCHEDULE, UNDONE)
LOSSLESS_PREFIXES = (ANSWER, JOB, SCHEDULE)
"""Prefixes of invocations not interrupted by newer messages. Only the limits of a day apply to them."""


def is_answer(client_id: str) -> bool:
    """Return True for the answer of a person or a job to a call."""
    return client_id.startswith((ANSWER, JOB))


def refuse_reserved(client_id: str) -> None:
    """Raise `InvalidInputError` when the id has a prefix of the site, not allowed for browsers."""
    if client_id.startswith(SITE_PREFIXES):
        raise InvalidInputError(
            f"The message id {client_id!r} begins with a reserved prefix. Use another id.",
            field="client_id",
        )


def of_answer(call_id: str) -> str:
    """Return the id of a person's answer to a call; the first answer counts."""
    return f"{ANSWER}{call_id}"


def of_job(job_id: UUID) -> str:
    """Return the id of a job's answer to its call."""
    return f"{JOB}{job_id}"


def of_retry(invocation_id: str) -> str:
    """Return the id of a message sent again because its failed invocation cannot be resumed."""
    return f"{RETRY}{invocation_id}"


def of_schedule(task_id: int, run: int | str) -> str:
    return f"{SCHEDULE}{task_id}:{run}"

"""Frames of the browser, and the frames that answer them: `ready` and `error`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from runtime.errors import AdkError
from sessions_app.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    StaleLeaseError,
)
from sessions_app.live.frames import VERSION, frame

LARGEST_ID = 2**63 - 1
PRINTABLE = r"^[\x20-\x7e]*$"

CLOSE_NOT_SIGNED_IN = 4401
CLOSE_NOT_FOUND = 4404
CLOSE_TOO_SLOW = 4408
CLOSE_TOO_LARGE = 4413
CLOSE_TOO_MANY = 4429
CLOSE_TRY_AGAIN = 4503


class ClientFrame(BaseModel):
    """What every frame of a browser has."""

    model_config = ConfigDict(extra="forbid")

    v: Literal[1] = 1


class Hello(ClientFrame):
    """The first frame: what the browser has already."""

    type: Literal["hello"]
    after: int = Field(default=0, ge=0)


class Message(ClientFrame):
    """What the person says. The browser makes the id, so that a retry starts nothing twice.

    Attributes:
        replaces: the invocation whose message this one is said in place of: it and all after it no longer count
            (spec R3). Refused with `conflict` while something runs or is queued.
    """

    type: Literal["message"]
    id: str = Field(min_length=1, max_length=128, pattern=PRINTABLE)
    text: str = Field(min_length=1)
    replaces: str | None = Field(default=None, max_length=64, pattern=PRINTABLE)


class Cancel(ClientFrame):
    """Stop the invocation."""

    type: Literal["cancel"]
    invocation_id: str = Field(max_length=64, pattern=PRINTABLE)


class Retry(ClientFrame):
    """Try the failed invocation again."""

    type: Literal["retry"]
    invocation_id: str = Field(max_length=64, pattern=PRINTABLE)


class CancelJob(ClientFrame):
    """Stop the job."""

    type: Literal["cancel_job"]
    id: UUID


class CancelSchedule(ClientFrame):
    """Call the scheduled task off."""

    type: Literal["cancel_schedule"]
    id: int = Field(gt=0, le=LARGEST_ID)


class AnswerJob(ClientFrame):
    """The answer to what the job asks: yes or no, or words. `number` says which of its questions, from 0."""

    type: Literal["answer_job"]
    id: UUID
    number: int = Field(ge=0)
    answer: bool | str


class Confirm(ClientFrame):
    """Yes or no to a call that asks for it (spec T7)."""

    type: Literal["confirm"]
    call_id: str = Field(max_length=128, pattern=PRINTABLE)
    confirmed: bool
    payload: Any = None


class Respond(ClientFrame):
    """The answer to a long-running call that waits for the person (spec T5)."""

    type: Literal["respond"]
    call_id: str = Field(max_length=128, pattern=PRINTABLE)
    name: str = Field(max_length=128)
    response: dict[str, Any]


class Ping(ClientFrame):
    """Are you there?"""

    type: Literal["ping"]


AnyClientFrame = (
    Hello | Message | Cancel | Retry | CancelJob | CancelSchedule | AnswerJob | Confirm | Respond | Ping
)
client_frame: TypeAdapter[AnyClientFrame] = TypeAdapter(
    Annotated[AnyClientFrame, Field(discriminator="type")]
)


def ready_frame(
    session_id: UUID,
    seq: int,
    *,
    invocation: dict[str, Any] | None,
    jobs: list[dict[str, Any]],
    schedules: list[dict[str, Any]],
) -> str:
    """The answer to `hello`: where the session stands. Events after the browser's follow."""
    fields = {
        "session": str(session_id),
        "seq": seq,
        "invocation": invocation,
        "jobs": jobs,
        "schedules": schedules,
    }
    return json.dumps({"v": VERSION, "type": "ready", **fields}, default=str)


def pong_frame() -> str:
    """Return the answer to `ping`."""
    return frame("pong")


def error_frame(error: AdkError, in_reply_to: str | None = None) -> str:
    """What went wrong, in a sentence for the person."""
    return frame("error", code=error_code(error), message=str(error), in_reply_to=in_reply_to)


def error_code(error: AdkError) -> str:
    """The code of an error in frames and API answers."""
    return next((code for kind, code, _ in _CODES if isinstance(error, kind)), "error")


def http_status(error: AdkError) -> int:
    """The status of an error in API answers."""
    return next((status for kind, _, status in _CODES if isinstance(error, kind)), 500)


_CODES: tuple[tuple[type[AdkError], str, int], ...] = (
    (NotFoundError, "not_found", 404),
    (PermissionDeniedError, "forbidden", 403),
    (InvalidInputError, "invalid", 400),
    (ConflictError, "conflict", 409),
    (StaleLeaseError, "stale", 409),
)

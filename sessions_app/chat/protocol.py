"""Frames that the browser sends, close codes, and `error` frames. `server_frames.py` has the frames to the browser.

Each client frame is a pydantic model and has its handler in `frame_handlers.py`. Unknown fields are refused. The limits
on ids and numbers are the limits of the columns, so a bad frame is refused here and not by the database.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from runtime.errors import AdkError
from sessions_app.base.codec import MAX_ID, MAX_INTEGER
from sessions_app.chat.server_frames import ErrorFrame
from sessions_app.errors import InvalidInputError, error_code
from sessions_app.rendering.sentences import in_language

PRINTABLE = r"^[\x20-\x7e]*$"

CLOSE_NOT_SIGNED_IN = 4401
"""Nobody is signed in, or the sign-in ended: sign-out, deactivation, or a new password."""
CLOSE_NOT_FOUND = 4404
CLOSE_TOO_SLOW = 4408
CLOSE_TOO_LARGE = 4413
CLOSE_TOO_MANY = 4429
CLOSE_TRY_AGAIN = 4503


class ClientFrame(BaseModel):
    """Fields of every client frame."""

    model_config = ConfigDict(extra="forbid")

    v: Literal[1] = 1


class Hello(ClientFrame):
    """The first frame of a socket; sent again to ask for the session's status.

    Attributes:
        after: `seq` of the last event that the browser has; without meaning on a connection without a session.
        list: True to get `sessions` and `activity` frames when the user's list, or the activity in it, changes.
    """

    type: Literal["hello"]
    after: int = Field(default=0, ge=0)
    list: bool = False


class UploadedFileName(BaseModel):
    """An uploaded file that a message refers to."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=1024)
    version: int = Field(ge=0, le=MAX_INTEGER)


class Message(ClientFrame):
    """A message of the user.

    Attributes:
        text: may be empty if there are files.
        files: uploads of the session. Their bytes came by HTTP.
        replaces: id of the invocation whose message this message replaces. The session is rewound to before this
            invocation (contract R3). Refused with `conflict` while an invocation runs or is queued.
        model: name of the model that answers from now on, empty for those of the agents; None keeps the choice.
    """

    type: Literal["message"]
    # Made by the browser: a message that is sent again after a lost connection starts no second invocation.
    id: str = Field(min_length=1, max_length=128, pattern=PRINTABLE)
    text: str
    files: list[UploadedFileName] = Field(default_factory=list, max_length=100)
    replaces: str | None = Field(default=None, max_length=64, pattern=PRINTABLE)
    model: str | None = None


class Switch(ClientFrame):
    """Bring back the alternative with the event `seq`.

    Refused with `conflict` while an invocation runs or is queued.
    """

    type: Literal["switch"]
    seq: int = Field(gt=0, le=MAX_ID)


class Cancel(ClientFrame):
    """Cancel an invocation."""

    type: Literal["cancel"]
    invocation_id: str = Field(max_length=64, pattern=PRINTABLE)


class Seen(ClientFrame):
    """The user has seen the session up to the event `seq`."""

    type: Literal["seen"]
    seq: int = Field(ge=0, le=MAX_ID)


class Retry(ClientFrame):
    """Retry a failed invocation."""

    type: Literal["retry"]
    invocation_id: str = Field(max_length=64, pattern=PRINTABLE)


class CancelJob(ClientFrame):
    """Cancel a job."""

    type: Literal["cancel_job"]
    id: UUID


class CancelSchedule(ClientFrame):
    """Cancel a scheduled task."""

    type: Literal["cancel_schedule"]
    id: int = Field(gt=0, le=MAX_ID)


class AnswerJob(ClientFrame):
    """The answer to a job's question: yes or no, or a text. `number` counts the job's questions from 0."""

    type: Literal["answer_job"]
    id: UUID
    number: int = Field(ge=0)
    answer: bool | str


class Confirm(ClientFrame):
    """The answer to a confirmation (contract T7).

    Attributes:
        payload: the whole payload of the answer.
        changes: with a yes, in place of `payload`: the changed values of the question's payload, by name. Other values
            stay as in the question. The name of a payload that is no object is "".
        for_session: True to allow later calls of the tool in this session as well, if the question offers it.
    """

    type: Literal["confirm"]
    call_id: str = Field(max_length=128, pattern=PRINTABLE)
    confirmed: bool
    payload: Any = None
    changes: dict[str, Any] | None = None
    for_session: bool = False


class Choose(ClientFrame):
    """The option that answers a call of `get_user_choice`; `option` counts from 0."""

    type: Literal["choose"]
    call_id: str = Field(max_length=128, pattern=PRINTABLE)
    option: int = Field(ge=0, le=MAX_INTEGER)


class WithdrawAllowance(ClientFrame):
    """Withdraw an allowance for the session: the agent asks again before it calls the tool."""

    type: Literal["withdraw_allowance"]
    agent: str = Field(max_length=256)
    tool: str = Field(max_length=256)


class Respond(ClientFrame):
    """The answer to a pending long-running call (contract T5)."""

    type: Literal["respond"]
    call_id: str = Field(max_length=128, pattern=PRINTABLE)
    name: str = Field(max_length=128)
    response: dict[str, Any]


class Ping(ClientFrame):
    """A check of the connection, answered with `pong`."""

    type: Literal["ping"]


AnyClientFrame = (
    Hello
    | Message
    | Switch
    | Seen
    | Cancel
    | Retry
    | CancelJob
    | CancelSchedule
    | AnswerJob
    | Confirm
    | Choose
    | WithdrawAllowance
    | Respond
    | Ping
)
client_frame: TypeAdapter[AnyClientFrame] = TypeAdapter(
    Annotated[AnyClientFrame, Field(discriminator="type")]
)


def parse(text: str | bytes | None) -> AnyClientFrame:
    """Parse a client frame.

    Args:
        text: the JSON, as characters or UTF-8; None stands for a binary websocket message.

    Raises:
        InvalidInputError: the text is no valid frame, or the message is binary.
    """
    if text is None:
        raise InvalidInputError("Send frames as text with JSON, not as binary data.")
    try:
        return client_frame.validate_json(text)
    except ValidationError as error:
        # The first error only: the others often follow from it.
        first = error.errors(include_url=False)[0]
        field = ".".join(str(step) for step in first["loc"]) or "frame"
        raise InvalidInputError(f"The frame cannot be used: {field}: {first['msg']}.") from error


def reply_id(frame: AnyClientFrame) -> str | None:
    """Return the id by which an `error` frame refers to this frame; None except for messages."""
    return frame.id if isinstance(frame, Message) else None


def error_frame(error: AdkError, in_reply_to: str | None = None) -> ErrorFrame:
    """Return the frame of an error, with its message in the active language."""
    return ErrorFrame(error_code(error), in_language(str(error)), in_reply_to)

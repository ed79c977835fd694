"""Objects of the API. Fields added by a newer site are kept as attributes."""

from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class ApiModel(BaseModel):
    """Base of all objects."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Page(ApiModel, Generic[T]):
    """Part of a list; `next` is the cursor of the next page, None on the last page."""

    items: list[T]
    next: str | int | None = None


class AppSummary(ApiModel):
    """An app of the site."""

    name: str
    description: str


class Account(ApiModel):
    """Owner of the key, and the rights of the key."""

    user_id: str
    username: str
    key: str | None
    scopes: list[str]


class Session(ApiModel):
    """Conversation of a user with an app; `last_seq` is the number of its last event."""

    session_id: UUID
    user_id: str
    app: str
    title: str
    last_seq: int
    created_at: datetime
    updated_at: datetime
    is_busy: bool = False
    needs_answer: bool = False


class StoredEvent(ApiModel):
    """An event in the form of the Agent Development Kit, with its number in the session."""

    seq: int
    event: dict[str, Any]


class RunError(ApiModel):
    """Reason of a failure: a code for programs, and a sentence for people."""

    code: str
    message: str


class Run(ApiModel):
    """A message and the work on it; `status` is queued, running, waiting, completed, failed or cancelled."""

    run_id: str
    session_id: UUID
    client_id: str
    status: str
    error: RunError | None = None
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None


class Progress(ApiModel):
    """Progress of a job in its own units."""

    done: float | None = None
    total: float | None = None
    percent: int | None = None
    message: str = ""


class Question(ApiModel):
    """Question of a job; `kind` is confirm, choice or text."""

    number: int
    text: str
    kind: str
    options: list[str] = Field(default_factory=list)


class Job(ApiModel):
    """Long-running call that the site executes. In lists, `arguments` and `result` are missing."""

    job_id: UUID
    session_id: UUID
    run_id: str
    call_id: str
    tool: str
    status: str
    progress: Progress
    question: Question | None = None
    error: str = ""
    files: dict[str, int] = Field(default_factory=dict)
    arguments: Any = None
    result: Any = None


class Approval(ApiModel):
    """Call, or question of a job, that waits for an answer.

    `effect` says in a short sentence what happens after a yes; `arguments` are those of the call, whole; `payload` has
    the values that the answer of a confirmation may change.
    """

    approval_id: int
    session_id: UUID
    run_id: str
    call_id: str
    job_id: UUID | None = None
    kind: str
    tool: str
    effect: str
    arguments: dict[str, Any] = {}
    payload: Any = None
    question: Question | None = None


class StoredFile(ApiModel):
    """A version of a file."""

    name: str
    version: int
    mime_type: str
    size: int
    sha256: str
    is_upload: bool


class Schedule(ApiModel):
    """Instruction for an agent, to be run at a given time; `status` is active, cancelled, failed or over."""

    schedule_id: int
    session_id: UUID
    task: str
    status: str
    next_at: datetime | None
    every: str


class Key(ApiModel):
    """API key; `key` is the secret itself, only in the response that created it."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    expires_at: datetime | None
    revoked_at: datetime | None
    key: str | None = None


class Webhook(ApiModel):
    """Address to which the site sends events; only the response that created it has the `secret` for signatures."""

    id: UUID
    url: str
    events: list[str]
    disabled_at: datetime | None
    secret: str | None = None


class Delivery(ApiModel):
    """An event on its way to a webhook."""

    id: int
    message_id: str
    event: str
    attempts: int
    response_status: int | None
    error: str
    delivered_at: datetime | None


class FieldError(ApiModel):
    """An invalid field, and the reason."""

    field: str
    message: str

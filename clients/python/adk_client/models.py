"""Objects of the API. Fields that a newer site adds are kept as attributes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class ApiModel(BaseModel):
    """Base of the objects."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Page(ApiModel, Generic[T]):
    """A part of a list; `next` is the cursor of the page that follows, None on the last one."""

    items: list[T]
    next: str | int | None = None


class AppSummary(ApiModel):
    """An app of the site."""

    name: str
    description: str


class Account(ApiModel):
    """The person of the key, and the key's rights."""

    user_id: str
    username: str
    key: str | None
    scopes: list[str]


class Session(ApiModel):
    """A conversation of a person with an app; `last_seq` is the number of its last event."""

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
    """Reason of a failure: a code for programs, and a sentence."""

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
    """Question that a job asks; `kind` is confirm, choice or text."""

    number: int
    text: str
    kind: str
    options: list[str] = Field(default_factory=list)


class Job(ApiModel):
    """A long-running call that the site executes. A list leaves `arguments` and `result` out."""

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
    """A call, or a question of a job, that waits for an answer; `effect` says what a yes lets happen."""

    approval_id: int
    session_id: UUID
    run_id: str
    call_id: str
    job_id: UUID | None = None
    kind: str
    tool: str
    effect: str
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
    """An instruction that an agent is told at a time; `status` is active, cancelled, failed or over."""

    schedule_id: int
    session_id: UUID
    task: str
    status: str
    next_at: datetime | None
    every: str


class Key(ApiModel):
    """An API key; `key` is the key itself, in the response that made it only."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    expires_at: datetime | None
    revoked_at: datetime | None
    key: str | None = None


class Webhook(ApiModel):
    """An address that the site tells of events; the response that made it has the `secret` that signs them."""

    id: UUID
    url: str
    events: list[str]
    disabled_at: datetime | None
    secret: str | None = None


class Delivery(ApiModel):
    """One event on its way to a webhook."""

    id: int
    message_id: str
    event: str
    attempts: int
    response_status: int | None
    error: str
    delivered_at: datetime | None


class FieldError(ApiModel):
    """A field that cannot be used, and why."""

    field: str
    message: str

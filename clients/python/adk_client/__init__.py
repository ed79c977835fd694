"""Client of a site's HTTP API, `/api/v1/`: `Client`, and `AsyncClient` with the same methods to await.

It depends only on httpx and pydantic.
"""

from adk_client.client import AsyncClient, Client
from adk_client.errors import (
    ApiError,
    ConflictError,
    ConnectionLostError,
    ForbiddenError,
    InvalidError,
    LimitError,
    NotFoundError,
    UnauthorizedError,
)
from adk_client.models import (
    Account,
    Approval,
    AppSummary,
    Delivery,
    FieldError,
    Job,
    Key,
    Page,
    Progress,
    Question,
    Run,
    RunError,
    Schedule,
    Session,
    StoredEvent,
    StoredFile,
    Webhook,
)
from adk_client.news import Ended, JobNews, NewEvent, News, OtherNews, RunNews, Text

__all__ = [
    "Account",
    "ApiError",
    "AppSummary",
    "Approval",
    "AsyncClient",
    "Client",
    "ConflictError",
    "ConnectionLostError",
    "Delivery",
    "Ended",
    "FieldError",
    "ForbiddenError",
    "InvalidError",
    "Job",
    "JobNews",
    "Key",
    "LimitError",
    "NewEvent",
    "News",
    "NotFoundError",
    "OtherNews",
    "Page",
    "Progress",
    "Question",
    "Run",
    "RunError",
    "RunNews",
    "Schedule",
    "Session",
    "StoredEvent",
    "StoredFile",
    "Text",
    "UnauthorizedError",
    "Webhook",
]

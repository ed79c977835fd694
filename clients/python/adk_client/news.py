"""News of a stream: what happens in a session, or in a run of the session."""

from typing import Any

from pydantic import Field

from adk_client.models import ApiModel, Question


class NewEvent(ApiModel):
    """A committed event, in the form of the Agent Development Kit."""

    seq: int
    event: dict[str, Any]

    @property
    def author(self) -> str:
        """`user`, or the name of an agent."""
        return str(self.event.get("author", ""))

    @property
    def text(self) -> str:
        """Text of the event, without thoughts."""
        parts = (self.event.get("content") or {}).get("parts") or []
        return "".join(part.get("text") or "" for part in parts if not part.get("thought"))


class Text(ApiModel):
    """Next piece of the text of a future event of an agent.

    No piece is repeated. When the event arrives, its pieces are its whole text, unless the agent changed the text after
    it was streamed.
    """

    run_id: str
    event_id: str
    author: str
    text: str
    thought: bool = False


class RunNews(ApiModel):
    """New status of a run."""

    run_id: str
    status: str
    error: str | None = None


class JobNews(ApiModel):
    """Job with a new status, progress or question."""

    job_id: str = Field(alias="id")
    call_id: str
    tool: str
    status: str
    percent: int | None = None
    message: str = ""
    error: str = ""
    question: Question | None = None


class OtherNews(ApiModel):
    """News of another kind, such as a scheduled task."""

    kind: str
    fields: dict[str, Any]


class Ended(ApiModel):
    """End of a stream; `reason` is `run_ended`, `deleted` or `signed_out`. For a run, it has the run's status."""

    reason: str
    run_id: str | None = None
    status: str | None = None
    error: str | None = None


News = NewEvent | Text | RunNews | JobNews | OtherNews | Ended

"""BaseAgentState: progress that an agent records to resume from (contract R1)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BaseAgentState(BaseModel):
    """Subclass this with the fields for your agent to find its place again."""

    model_config = ConfigDict(extra="forbid")

"""BaseAgentState: what an agent records to go on after an interruption (spec R1)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BaseAgentState(BaseModel):
    """Subclass it with the fields that an agent of yours needs to find its place again."""

    model_config = ConfigDict(extra="forbid")

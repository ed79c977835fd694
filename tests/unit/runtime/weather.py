"""Input and output schemas for tests of agents as tools."""

from __future__ import annotations

from pydantic import BaseModel


class Place(BaseModel):
    city: str
    country: str | None = None


class Weather(BaseModel):
    degrees: float
    note: str | None = None

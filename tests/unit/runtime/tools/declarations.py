"""Types that the tests of declarations share, and a helper that reads a declaration."""

from __future__ import annotations

import enum
from typing import Any

from pydantic import BaseModel, Field

from runtime import types
from runtime.tools import FunctionTool


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    """A postal address."""

    street: str = Field(description="With the house number.")
    floor: int | None = None


def declared(function: Any) -> dict[str, dict[str, Any]]:
    """Return the schemas of the function's declared parameters as dicts."""
    schema = FunctionTool(function)._get_declaration().parameters
    assert schema is not None
    assert schema.type is types.Type.OBJECT
    assert schema.properties is not None
    return {
        name: value.model_dump(mode="json", exclude_none=True) for name, value in schema.properties.items()
    }

"""EvalBaseModel: the base of all that an eval set consists of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class EvalBaseModel(BaseModel):
    """Model whose JSON has google-adk's names, in snake case or in camel case; an unknown name is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

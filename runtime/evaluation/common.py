"""EvalBaseModel: base of all parts of an eval set."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class EvalBaseModel(BaseModel):
    """Model with google-adk's names in JSON, in snake case or camel case; unknown names are an error."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )

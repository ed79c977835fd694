"""RequestInput: a question of a workflow's node to the person."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from runtime import types
from runtime.events.calls import REQUEST_INPUT


class RequestInput(BaseModel):
    """A question to the person. The node that yields or returns it waits for the answer.

    Attributes:
        interrupt_id: id of the question, unique in the invocation. Without an id, the question gets one. A node that
            runs again while the question is open asks it again with the same message and payload.
        message: the question in words.
        payload: data for the person to decide on.
        response_schema: type or JSON schema of the answer; None: any text.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, alias_generator=to_camel, populate_by_name=True)

    interrupt_id: str = ""
    message: str | None = None
    payload: Any = None
    response_schema: Any = Field(default=None)

    def is_asked_by(self, call: types.FunctionCall) -> bool:
        """Return True if the call of an open question asks this question."""
        if self.interrupt_id:
            return call.id == self.interrupt_id
        asked = self.as_call("").args or {}
        args = call.args or {}
        return all(args.get(name) == asked[name] for name in ("message", "payload"))

    def as_call(self, question_id: str) -> types.FunctionCall:
        """Return the question as the long-running call that asks it."""
        schema = self.response_schema
        if schema is not None and not isinstance(schema, dict):
            schema = TypeAdapter(schema).json_schema()
        payload = TypeAdapter(Any).dump_python(self.payload, mode="json")
        args = {
            "interruptId": question_id,
            "message": self.message,
            "payload": payload,
            "response_schema": schema,
        }
        return types.FunctionCall(id=question_id, name=REQUEST_INPUT, args=args)

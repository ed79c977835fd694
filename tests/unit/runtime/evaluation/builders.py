"""Invocations of eval cases for tests."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.evaluation.eval_case import EvalCase, IntermediateData, Invocation


def called(*calls: types.FunctionCall, answer: str = "", message: str = "Go") -> Invocation:
    """Return an invocation with these calls and this final response."""
    return Invocation(
        user_content=types.UserContent(message),
        final_response=types.ModelContent(answer) if answer else None,
        intermediate_data=IntermediateData(tool_uses=list(calls)),
    )


def call(name: str, **args: Any) -> types.FunctionCall:
    return types.FunctionCall(name=name, args=args)


def case_of(*messages: str, **fields: Any) -> EvalCase:
    """Return a case with these messages and nothing expected."""
    conversation = [Invocation(user_content=types.UserContent(message)) for message in messages]
    return EvalCase(eval_id="case", conversation=conversation, **fields)

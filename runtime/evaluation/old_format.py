"""Eval sets in google-adk's oldest format: a list of turns, or of cases with turns."""

from typing import Any

from pydantic import BaseModel, TypeAdapter

from runtime import types
from runtime.evaluation.eval_case import EvalCase, IntermediateData, Invocation, SessionInput
from runtime.evaluation.eval_set import EvalSet


class _Call(BaseModel):
    tool_name: str
    tool_input: dict[str, Any] = {}


class _Text(BaseModel):
    author: str = ""
    text: str


class _Turn(BaseModel):
    query: str
    reference: str | None = None
    expected_tool_use: list[_Call] = []
    expected_intermediate_agent_responses: list[_Text] = []


class OldSession(BaseModel):
    """Session with which a list of turns begins."""

    app_name: str = ""
    user_id: str = ""
    state: dict[str, Any] = {}


class _Case(BaseModel):
    name: str
    data: list[_Turn]
    initial_session: OldSession | None = None


def read_old_set(name: str, values: list[Any], initial_session: OldSession | None) -> EvalSet:
    """Return the set in a list. Turns without cases are one case, with the name of the set.

    Raises:
        ValidationError: a turn or case has other fields.
    """
    if values and isinstance(values[0], dict) and "data" in values[0]:
        cases = TypeAdapter(list[_Case]).validate_python(values)
    else:
        turns = TypeAdapter(list[_Turn]).validate_python(values)
        cases = [_Case(name=name, data=turns, initial_session=initial_session)]
    return EvalSet(eval_set_id=name, eval_cases=[_convert_case(case) for case in cases])


def _convert_case(case: _Case) -> EvalCase:
    session = None
    if case.initial_session:
        session = SessionInput(**case.initial_session.model_dump())
    return EvalCase(
        eval_id=case.name, conversation=[_invocation(turn) for turn in case.data], session_input=session
    )


def _invocation(turn: _Turn) -> Invocation:
    data = IntermediateData()
    for call in turn.expected_tool_use:
        data.tool_uses.append(types.FunctionCall(name=call.tool_name, args=call.tool_input))
    for text in turn.expected_intermediate_agent_responses:
        data.intermediate_responses.append((text.author, [types.Part(text=text.text)]))
    response = types.ModelContent(turn.reference) if turn.reference is not None else None
    return Invocation(
        user_content=types.UserContent(turn.query), final_response=response, intermediate_data=data
    )

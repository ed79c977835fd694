"""EvalCase: a conversation with an agent, as expected."""

from typing import Any, Self

from pydantic import ConfigDict, Field, model_validator

from runtime import types
from runtime.evaluation.common import EvalBaseModel
from runtime.evaluation.conversation_scenarios import ConversationScenario
from runtime.evaluation.eval_rubrics import Rubric
from runtime.models.llm_response import calls_in, responses_in

StaticConversation = list["Invocation"]
SessionState = dict[str, Any]


class IntermediateData(EvalBaseModel):
    """Calls, their responses, and texts before the final response, each in chronological order.

    Attributes:
        intermediate_responses: author and parts of each text.
    """

    tool_uses: list[types.FunctionCall] = []
    tool_responses: list[types.FunctionResponse] = []
    intermediate_responses: list[tuple[str, list[types.Part]]] = []


class InvocationEvent(EvalBaseModel):
    """Excerpt of an event."""

    model_config = ConfigDict(extra="ignore")  # adk-web adds positions in its own page

    author: str
    content: types.Content | None = None
    grounding_metadata: types.GroundingMetadata | None = None
    usage_metadata: types.GenerateContentResponseUsageMetadata | None = None
    model_version: str | None = None


class InvocationEvents(EvalBaseModel):
    """Events of an invocation, without the text of the final response, in adk-web's format."""

    invocation_events: list[InvocationEvent] = []


IntermediateDataType = IntermediateData | InvocationEvents


class Invocation(EvalBaseModel):
    """A message with its answer, expected or actual.

    Attributes:
        duration: seconds taken by the invocation; None for an expected invocation.
        inference_calls: calls of models; None for an expected invocation. No file has them, nor the tokens.
        tokens: tokens of all calls of models, as far as the models report them.
        app_details: google-adk's notes about the agents of the app; kept, but not read.
    """

    invocation_id: str = ""
    user_content: types.Content
    final_response: types.Content | None = None
    intermediate_data: IntermediateDataType | None = None
    creation_timestamp: float = 0.0
    duration: float | None = None
    model_duration: float | None = None
    tool_duration: float | None = None
    inference_calls: int | None = Field(default=None, exclude=True)
    tokens: int | None = Field(default=None, exclude=True)
    rubrics: list[Rubric] | None = None
    app_details: dict[str, Any] | None = None


class SessionInput(EvalBaseModel):
    """Session in which a case begins."""

    model_config = ConfigDict(extra="allow")

    app_name: str
    user_id: str
    session_id: str | None = None
    state: SessionState = {}


class EvalCase(EvalBaseModel):
    """A case: a written conversation, or a scenario for a simulated user.

    Attributes:
        rubrics: rubrics for all invocations of the case.
    """

    model_config = ConfigDict(extra="allow")

    eval_id: str
    conversation: StaticConversation | None = None
    conversation_scenario: ConversationScenario | None = None
    session_input: SessionInput | None = None
    creation_timestamp: float = 0.0
    rubrics: list[Rubric] | None = None
    final_session_state: SessionState | None = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_one_kind_of_conversation(self) -> Self:
        if (self.conversation is None) == (self.conversation_scenario is None):
            raise ValueError("Give the case a conversation or a conversation_scenario, and not both.")
        return self


def get_all_tool_calls(intermediate_data: IntermediateDataType | None) -> list[types.FunctionCall]:
    """Return the calls of an invocation, in order."""
    if isinstance(intermediate_data, IntermediateData):
        return intermediate_data.tool_uses
    calls: list[types.FunctionCall] = []
    for event in _events(intermediate_data):
        calls += calls_in(event.content)
    return calls


def get_all_tool_responses(intermediate_data: IntermediateDataType | None) -> list[types.FunctionResponse]:
    """Return the responses to the calls of an invocation, in order."""
    if isinstance(intermediate_data, IntermediateData):
        return intermediate_data.tool_responses
    responses: list[types.FunctionResponse] = []
    for event in _events(intermediate_data):
        responses += responses_in(event.content)
    return responses


def _events(data: InvocationEvents | None) -> list[InvocationEvent]:
    if data is None:
        return []
    return data.invocation_events

"""Requests of a server for a model's answer (sampling), which the agent's model gives after the person has agreed.

The model reads the server's texts alone, and nothing of the conversation. The person sees all that it reads: the tokens
are theirs, and the server reads the answer. So neither hooks nor the run's options change the request, and it is not
reported to `RunConfig.on_model_call`.
"""

from mcp.client import ClientRequestContext
from mcp.types import (
    INVALID_REQUEST,
    CreateMessageRequestParams,
    CreateMessageResult,
    ErrorData,
    TextContent,
)

from runtime import types
from runtime.context import Context
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import text_in
from runtime.models.rate_limit import ask_for_whole
from runtime.run_config import HasModel

_ROLES = {"user": "user", "assistant": "model"}


async def refuse_sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> ErrorData:
    """Refuse a request of the older protocol, which a server sends within a running call: the call cannot wait."""
    return ErrorData(code=INVALID_REQUEST, message="A model answers servers of protocol 2026-07-28 only.")


def prompt_of(context: Context, params: CreateMessageRequestParams) -> str | None:
    """Return what the model would read; None if it is more than texts, or the agent has no model."""
    if params.tools or not isinstance(context.invocation.agent, HasModel):
        return None
    lines: list[str] = []
    if params.system_prompt:
        lines.append(params.system_prompt)
    for message in params.messages:
        texts = [block.text for block in message.content_as_list if isinstance(block, TextContent)]
        if len(texts) != len(message.content_as_list):
            return None
        lines += [f"{message.role}: {text}" for text in texts]
    return "\n".join(lines)


async def answer_of_model(context: Context, params: CreateMessageRequestParams) -> CreateMessageResult | None:
    """Return the answer of the agent's model, whose tokens count for the call of the tool; None without a model.

    Raises:
        ModelError: the model failed.
        LlmCallsLimitExceededError: the invocation has made as many calls as it may.
    """
    invocation = context.invocation
    if not isinstance(invocation.agent, HasModel):
        return None
    invocation.increment_llm_call_count()
    model = invocation.run_config.model_of(invocation.agent, invocation.session.state)
    config = types.GenerateContentConfig(
        system_instruction=params.system_prompt,
        max_output_tokens=params.max_tokens,
        temperature=params.temperature,
        stop_sequences=params.stop_sequences,
    )
    response = await ask_for_whole(
        model, LlmRequest(model=model.model, contents=_contents(params), config=config)
    )
    # The event with the tool's response adds up the usage of these (contract T13).
    if response.usage_metadata:
        context.child_responses.append(response)
    answer = TextContent(type="text", text=text_in(response.content))
    return CreateMessageResult(role="assistant", content=answer, model=response.model_version or model.model)


def _contents(params: CreateMessageRequestParams) -> list[types.Content]:
    contents = []
    for message in params.messages:
        blocks = [block for block in message.content_as_list if isinstance(block, TextContent)]
        parts = [types.Part(text=block.text) for block in blocks]
        contents.append(types.Content(role=_ROLES[message.role], parts=parts))
    return contents

"""Responses of models: streaming, errors, thoughts, usage, limits, run config."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent, LoopAgent, RunConfig
from runtime.agents.run_config import StreamingMode
from runtime.models import LlmResponse
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import Turn, World, call, content_of


def price(item: str) -> dict[str, Any]:
    """«Price of an item.»"""
    return {"price": 20, "item": item}


STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)


async def clerk(world: World, *turns: Turn, run_config: RunConfig | None = None, **settings: Any) -> None:
    agent = LlmAgent(name="clerk", model=world.model(*turns), tools=[price], **settings)
    await world.play(agent, "Go", run_config=run_config)


@program
async def a_streamed_text(world: World) -> None:
    await clerk(world, "One two three", run_config=STREAMING)


@program
async def a_streamed_text_with_an_output_key(world: World) -> None:
    await clerk(world, "One two", run_config=STREAMING, output_key="said")


@program
async def a_streamed_text_after_a_call(world: World) -> None:
    await clerk(world, call("price", item="lamp"), "Twenty euros", run_config=STREAMING)


@program
async def a_streamed_text_with_callbacks(world: World) -> None:
    def look(callback_context: Any, llm_response: LlmResponse) -> None:
        callback_context.state["looks"] = callback_context.state.get("looks", 0) + 1
        world.note(partial=llm_response.partial)

    await clerk(world, "One two", run_config=STREAMING, after_model_callback=look)


@program
async def a_streamed_response_replaced_by_a_callback(world: World) -> None:
    def replace(callback_context: Any, llm_response: LlmResponse) -> LlmResponse | None:
        if llm_response.partial:
            return None
        return LlmResponse(content=content_of("model", "Replaced."))

    await clerk(world, "One two", run_config=STREAMING, after_model_callback=replace)


@program
async def an_exception_of_the_model(world: World) -> None:
    await clerk(world, LookupError("no"))


@program
async def an_exception_after_a_call(world: World) -> None:
    await clerk(world, call("price", item="lamp"), LookupError("no"))


@program
async def the_next_message_after_an_exception(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model(LookupError("no"), "Hello."))
    await world.play(agent, "One", "Two")


@program
async def a_response_with_an_error_code(world: World) -> None:
    await clerk(world, LlmResponse(error_code="SAFETY", error_message="Blocked."))


@program
async def a_response_with_an_error_code_and_a_text(world: World) -> None:
    content = content_of("model", "Half a sen")
    await clerk(world, LlmResponse(content=content, error_code="MAX_TOKENS", error_message="Too long."))


@differing_program("A response of the model without content")
async def a_response_without_content(world: World) -> None:
    await clerk(world, LlmResponse(), output_key="said")


@program
async def a_response_without_parts(world: World) -> None:
    await clerk(world, LlmResponse(content=types.Content(role="model", parts=[])))


@program
async def a_response_that_ends_without_content(world: World) -> None:
    await clerk(world, LlmResponse(finish_reason=types.FinishReason.STOP))


@program
async def a_response_that_ends_with_thoughts_and_spaces(world: World) -> None:
    parts = [types.Part(text="Hm.", thought=True), types.Part(text=" ")]
    content = types.Content(role="model", parts=parts)
    await clerk(world, LlmResponse(content=content, finish_reason=types.FinishReason.STOP))


@program
async def a_response_of_an_empty_text(world: World) -> None:
    await clerk(world, "", output_key="said")


@program
async def a_response_with_usage_and_a_finish_reason(world: World) -> None:
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=3, candidates_token_count=2)
    content = content_of("model", "Hello.")
    response = LlmResponse(
        content=content, usage_metadata=usage, finish_reason=types.FinishReason.STOP, turn_complete=True
    )
    await clerk(world, response)


@program
async def a_response_with_metadata_of_its_own(world: World) -> None:
    response = LlmResponse(content=content_of("model", "Hello."), custom_metadata={"cached": True})
    await clerk(world, response, run_config=RunConfig(custom_metadata={"run": 1}))


@program
async def an_interrupted_response(world: World) -> None:
    await clerk(world, LlmResponse(content=content_of("model", "Hel"), interrupted=True))


@program
async def thoughts_in_the_next_request(world: World) -> None:
    parts = [types.Part(text="Hm.", thought=True), types.Part(text="Hello.")]
    agent = LlmAgent(name="clerk", model=world.model(parts, "Again."))
    await world.play(agent, "One", "Two")


@program
async def a_thought_signature(world: World) -> None:
    part = types.Part(
        function_call=types.FunctionCall(name="price", args={"item": "lamp"}), thought_signature=b"signed"
    )
    await clerk(world, part, "20 €")


@differing_program("A file in an answer")
async def an_image_in_the_answer(world: World) -> None:
    # Under a name of its own: the runtime's names end with an id.
    image = types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png", display_name="lamp.png"))
    agent = LlmAgent(name="clerk", model=world.model([image], "A lamp."))
    await world.play(agent, "Draw", "What is it?")


@program
async def a_limit_of_model_calls(world: World) -> None:
    calls = [call("price", item="lamp"), call("price", item="desk")]
    await clerk(world, *calls, "Never.", run_config=RunConfig(max_llm_calls=2))


@differing_program("An exception in an agent below the root")
async def a_limit_of_model_calls_in_a_loop(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model("1", "2", "3"))
    loop = LoopAgent(name="loop", sub_agents=[agent])
    await world.play(loop, "Go", run_config=RunConfig(max_llm_calls=2))


@program
async def metadata_of_the_run(world: World) -> None:
    await clerk(
        world, call("price", item="lamp"), "20 €", run_config=RunConfig(custom_metadata={"channel": "mail"})
    )


@differing_program("`RunConfig(save_input_blobs_as_artifacts=True)`")
async def files_of_the_message_as_artifacts(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model("Saved."))
    image = types.Part.from_bytes(data=b"png", mime_type="image/png")
    config = RunConfig(save_input_blobs_as_artifacts=True)
    await world.play(agent, [types.Part(text="Look:"), image], run_config=config)


@program
async def code_that_the_model_ran(world: World) -> None:
    code = types.Part(executable_code=types.ExecutableCode(code="1 + 1", language=types.Language.PYTHON))
    result = types.Part(
        code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="2")
    )
    agent = LlmAgent(name="clerk", model=world.model([code, result, types.Part(text="It is 2.")], "Yes."))
    await world.play(agent, "Compute", "Sure?")


@program
async def grounding_metadata(world: World) -> None:
    metadata = types.GroundingMetadata(web_search_queries=["lamps"])
    await clerk(world, LlmResponse(content=content_of("model", "Lamps."), grounding_metadata=metadata))

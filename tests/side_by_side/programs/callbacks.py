"""Callbacks of agents, models and tools."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.models import LlmRequest, LlmResponse
from runtime.tools import BaseTool, ToolContext
from tests.side_by_side.program import program
from tests.side_by_side.world import Turn, World, call, content_of


def price(item: str) -> dict[str, Any]:
    """«Price of an item.»"""
    return {"price": 20, "item": item}


def fails() -> str:
    """«Fail.»"""
    raise LookupError("no")


async def clerk(world: World, *turns: Turn, messages: tuple[str, ...] = ("Go",), **settings: Any) -> None:
    settings.setdefault("tools", [price, fails])
    await world.play(LlmAgent(name="clerk", model=world.model(*turns), **settings), *messages)


def replying(text: str) -> LlmResponse:
    return LlmResponse(content=content_of("model", text))


@program
async def before_agent_replies(world: World) -> None:
    def refuse(callback_context: CallbackContext) -> types.Content:
        return content_of("model", "Closed.")

    await clerk(world, before_agent_callback=refuse)


@program
async def before_agent_writes_state_only(world: World) -> None:
    def count(callback_context: CallbackContext) -> None:
        callback_context.state["count"] = callback_context.state.get("count", 0) + 1

    await clerk(world, "One.", "Two.", messages=("Go", "Again"), before_agent_callback=count)


@program
async def before_agent_replies_and_writes_state(world: World) -> None:
    async def refuse(callback_context: CallbackContext) -> types.Content:
        callback_context.state["refused"] = True
        return content_of("model", "Closed.")

    await clerk(world, before_agent_callback=refuse)


@program
async def before_agent_sees_the_message(world: World) -> None:
    def look(callback_context: CallbackContext) -> None:
        content = callback_context.user_content
        world.note(
            agent=callback_context.agent_name,
            message=content and content.parts and content.parts[0].text,
            state=callback_context.state.to_dict(),
            session=callback_context.session.id,
        )

    await clerk(world, "Hello.", before_agent_callback=look)


@program
async def after_agent_adds_a_content(world: World) -> None:
    def sign(callback_context: CallbackContext) -> types.Content:
        return content_of("model", "Yours, clerk.")

    await clerk(world, "Hello.", after_agent_callback=sign)


@program
async def after_agent_writes_state_only(world: World) -> None:
    def note(callback_context: CallbackContext) -> None:
        callback_context.state["done"] = True

    await clerk(world, "Hello.", after_agent_callback=note)


@program
async def after_agent_is_not_asked_when_before_agent_replied(world: World) -> None:
    def refuse(callback_context: CallbackContext) -> types.Content:
        return content_of("model", "Closed.")

    def sign(callback_context: CallbackContext) -> types.Content:
        return content_of("model", "Yours, clerk.")

    await clerk(world, before_agent_callback=refuse, after_agent_callback=sign)


@program
async def the_first_callback_of_a_list_that_answers_counts(world: World) -> None:
    def silent(callback_context: CallbackContext) -> None:
        world.note(asked="silent")

    def first(callback_context: CallbackContext) -> types.Content:
        return content_of("model", "First.")

    def second(callback_context: CallbackContext) -> types.Content:
        world.note(asked="second")
        return content_of("model", "Second.")

    await clerk(world, before_agent_callback=[silent, first, second])


@program
async def callbacks_of_a_sequence(world: World) -> None:
    def begin(callback_context: CallbackContext) -> None:
        callback_context.state["begun"] = callback_context.agent_name

    def end(callback_context: CallbackContext) -> types.Content:
        return content_of("model", f"{callback_context.state['begun']} has ended.")

    first = LlmAgent(name="first", model=world.model("One."))
    sequence = SequentialAgent(
        name="sequence", sub_agents=[first], before_agent_callback=begin, after_agent_callback=end
    )
    await world.play(sequence, "Go")


@program
async def before_model_replies(world: World) -> None:
    def reply(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse:
        return replying("From the cache.")

    await clerk(world, before_model_callback=reply)


@program
async def before_model_edits_the_request(world: World) -> None:
    def edit(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        llm_request.contents.append(content_of("user", "And be brief."))
        llm_request.config.temperature = 0.5
        llm_request.append_instructions(["«Hurry.»"])

    await clerk(world, "Hello.", instruction="«Be kind.»", before_model_callback=edit)


@program
async def before_model_writes_state(world: World) -> None:
    def count(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        callback_context.state["calls"] = callback_context.state.get("calls", 0) + 1

    await clerk(world, call("price", item="lamp"), "20 €", before_model_callback=count)


@program
async def before_model_replies_with_a_call(world: World) -> None:
    def reply(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        if len(llm_request.contents) > 1:
            return None
        return LlmResponse(content=content_of("model", call("price", item="lamp")))

    await clerk(world, "20 €", before_model_callback=reply)


@program
async def after_model_replaces_the_response(world: World) -> None:
    def polish(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse:
        return replying("Polished.")

    await clerk(world, "Rough.", after_model_callback=polish)


@program
async def after_model_drops_a_call(world: World) -> None:
    def polish(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse:
        return replying("No calls here.")

    await clerk(world, call("price", item="lamp"), after_model_callback=polish)


@program
async def after_model_writes_state_beside_a_call(world: World) -> None:
    def note(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        callback_context.state["answers"] = callback_context.state.get("answers", 0) + 1

    await clerk(world, call("price", item="lamp"), "20 €", after_model_callback=note)


@program
async def after_model_sees_what_before_model_replied(world: World) -> None:
    def reply(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse:
        return replying("From the cache.")

    def look(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        world.note(seen=True)

    await clerk(world, before_model_callback=reply, after_model_callback=look)


@program
async def on_model_error_replies(world: World) -> None:
    def excuse(callback_context: CallbackContext, llm_request: LlmRequest, error: Exception) -> LlmResponse:
        return replying(f"Sorry: {type(error).__name__}")

    await clerk(world, LookupError("no"), on_model_error_callback=excuse)


@program
async def on_model_error_only_looks(world: World) -> None:
    def look(callback_context: CallbackContext, llm_request: LlmRequest, error: Exception) -> None:
        callback_context.state["failed"] = True
        world.note(error=str(error))

    await clerk(world, LookupError("no"), on_model_error_callback=look)


@program
async def before_tool_answers(world: World) -> None:
    def answer(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        return {"price": 0, "tool": tool.name}

    await clerk(world, call("price", item="lamp"), "Free.", before_tool_callback=answer)


@program
async def before_tool_changes_the_arguments(world: World) -> None:
    def change(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
        args["item"] = "desk"
        tool_context.state["changed"] = True

    await clerk(world, call("price", item="lamp"), "Done.", before_tool_callback=change)


@program
async def before_tool_answers_with_an_empty_dict(world: World) -> None:
    def answer(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        return {}

    await clerk(world, call("price", item="lamp"), "Done.", before_tool_callback=answer)


@program
async def after_tool_replaces_the_response(world: World) -> None:
    def double(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: dict[str, Any]
    ) -> dict[str, Any]:
        return {**tool_response, "price": tool_response["price"] * 2, "args": args}

    await clerk(world, call("price", item="lamp"), "40 €", after_tool_callback=double)


@program
async def after_tool_changes_the_response_in_place(world: World) -> None:
    def mark(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: dict[str, Any]
    ) -> None:
        tool_response["marked"] = True

    await clerk(world, call("price", item="lamp"), "20 €", after_tool_callback=mark)


@program
async def after_tool_sees_what_before_tool_answered(world: World) -> None:
    def answer(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        return {"price": 0}

    def look(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: dict[str, Any]
    ) -> None:
        world.note(seen=tool_response)

    await clerk(world, call("price", item="lamp"), "0", before_tool_callback=answer, after_tool_callback=look)


@program
async def on_tool_error_answers(world: World) -> None:
    async def excuse(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any]:
        return {"failed": type(error).__name__}

    await clerk(world, call("fails"), "Sorry.", on_tool_error_callback=excuse)


@program
async def on_tool_error_only_looks(world: World) -> None:
    def look(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> None:
        world.note(error=str(error))

    await clerk(world, call("fails"), on_tool_error_callback=look)


@program
async def on_tool_error_of_an_unknown_tool(world: World) -> None:
    def excuse(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any]:
        return {"unknown": tool.name, "is_value_error": isinstance(error, ValueError)}

    await clerk(world, call("no_such_tool"), "Sorry.", on_tool_error_callback=excuse)


@program
async def callbacks_whose_parameters_have_other_names(world: World) -> None:
    def answers(
        used: BaseTool, given: dict[str, Any], context: ToolContext, error: Exception
    ) -> dict[str, Any]:
        return {"failed": used.name, "given": given, "agent": context.agent_name, "error": str(error)}

    def adds(used: BaseTool, given: dict[str, Any], context: ToolContext, found: Any) -> dict[str, Any]:
        return {**found, "given": given, "agent": context.agent_name}

    await clerk(
        world,
        [call("fails"), call("price", item="lamp")],
        "Done.",
        before_agent_callback=lambda context: context.state.update({"seen": context.agent_name}),
        before_model_callback=lambda context, request: request.append_instructions(["Be brief."]),
        after_model_callback=lambda context, reply: context.state.update({"said": reply.content.role}),
        before_tool_callback=lambda used, given, context: context.state.update({used.name: given}),
        after_tool_callback=adds,
        on_tool_error_callback=answers,
    )


@program
async def a_callback_that_raises(world: World) -> None:
    def fail(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        raise LookupError("no")

    await clerk(world, before_model_callback=fail)


@program
async def a_failing_after_agent_callback(world: World) -> None:
    def fail(callback_context: CallbackContext) -> None:
        raise LookupError("no")

    await clerk(world, "Hello.", after_agent_callback=fail)


@program
async def a_callback_saves_an_artifact(world: World) -> None:
    async def save(callback_context: CallbackContext) -> None:
        version = await callback_context.save_artifact("log.txt", types.Part(text="begun"))
        world.note(version=version)

    await clerk(world, "Hello.", before_agent_callback=save)

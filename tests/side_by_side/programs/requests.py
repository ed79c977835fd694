"""Requests: instructions, templates, contents, schemas, examples, planners."""

from __future__ import annotations

from typing import Any

from google.genai import types
from pydantic import BaseModel, Field

from runtime.agents import LlmAgent, SequentialAgent
from runtime.agents.readonly_context import ReadonlyContext
from runtime.examples import BaseExampleProvider, Example
from runtime.models import LlmRequest
from runtime.planners import BuiltInPlanner, PlanReActPlanner
from runtime.tools import BaseTool, ExampleTool, FunctionTool, ToolContext, google_search, url_context
from runtime.tools.base_toolset import BaseToolset
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import Turn, World, call, content_of


class Capital(BaseModel):
    """«A capital.»"""

    name: str = Field(description="«Its name.»")
    people: int


class Country(BaseModel):
    country: str = Field(description="«The country.»")


def price(item: str) -> dict[str, Any]:
    """«Price of an item.»

    Args:
        item: the item's name
    """
    return {"price": 20, "item": item}


def stock(item: str) -> int:
    """«Stock of an item.»"""
    return 3


def clerk(world: World, *turns: Turn, **settings: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=world.model(*turns), **settings)


@program
async def an_instruction_with_keys_of_the_state(world: World) -> None:
    await world.open(name="Ada", **{"user:city": "London", "app:shop": "Lamps"})
    instruction = "«{name} lives in {user:city}, of {app:shop}. {missing?}»"
    await world.play(clerk(world, "Hi.", instruction=instruction), "Hi")


@program
async def an_instruction_with_a_missing_key(world: World) -> None:
    await world.play(clerk(world, "Hi.", instruction="«Greet {name}.»"), "Hi")


@program
async def an_instruction_with_braces_that_are_no_keys(world: World) -> None:
    instruction = '«Answer {"a": 1}, {}, { name }, {{name}}, {1x}, {a b}.»'
    await world.open(name="Ada")
    await world.play(clerk(world, "Hi.", instruction=instruction), "Hi")


@program
async def an_instruction_with_values_of_all_types(world: World) -> None:
    await world.open(number=1, items=["a", "b"], flag=True, nothing=None, nested={"a": {"b": 1}})
    instruction = "«{number} {items} {flag} {nothing} {nested}»"
    await world.play(clerk(world, "Hi.", instruction=instruction), "Hi")


@program
async def an_instruction_with_an_artifact(world: World) -> None:
    await world.save_file("note.txt", "Call Bert.")
    await world.play(
        clerk(world, "Hi.", instruction="«Note: {artifact.note.txt} {artifact.gone.txt?}»"), "Hi"
    )


@program
async def an_instruction_by_a_function(world: World) -> None:
    def instruct(context: ReadonlyContext) -> str:
        return f"«Serve {context.state['name']}; {{name}} stays.»"

    await world.open(name="Ada")
    await world.play(clerk(world, "Hi.", instruction=instruct), "Hi")


@program
async def an_instruction_by_an_async_function(world: World) -> None:
    async def instruct(context: ReadonlyContext) -> str:
        return f"«I am {context.agent_name}.»"

    await world.play(clerk(world, "Hi.", instruction=instruct), "Hi")


@program
async def a_global_instruction(world: World) -> None:
    helper = LlmAgent(name="helper", model=world.model("Helped."), instruction="«Help.»")
    turn = call("transfer_to_agent", agent_name="helper")
    boss = clerk(world, turn, global_instruction="«Be polite.»", instruction="«Serve.»", sub_agents=[helper])
    await world.play(boss, "Hi")


@program
async def a_static_instruction(world: World) -> None:
    agent = clerk(world, "Hi.", "Again.", static_instruction="«The law.»", instruction="«Serve {name?}.»")
    await world.play(agent, "Hi", "More")


@program
async def a_description_of_the_agent(world: World) -> None:
    await world.play(clerk(world, "Hi.", description="«Sells lamps.»", instruction="«Serve.»"), "Hi")


@program
async def no_contents_of_earlier_turns(world: World) -> None:
    agent = clerk(world, "One.", call("price", item="lamp"), "Two.", include_contents="none", tools=[price])
    await world.play(agent, "First", "Second")


@program
async def no_contents_in_a_sequence(world: World) -> None:
    first = LlmAgent(name="first", model=world.model("A draft."))
    second = LlmAgent(name="second", model=world.model("Better."), include_contents="none")
    await world.play(SequentialAgent(name="sequence", sub_agents=[first, second]), "Go")


@program
async def no_contents_after_a_transfer(world: World) -> None:
    second = LlmAgent(name="second", model=world.model("Better."), include_contents="none")
    root = clerk(world, "One.", call("transfer_to_agent", agent_name="second"), sub_agents=[second])
    await world.play(root, "First", "Second")


@differing_program("An agent without history after a call and a transfer")
async def no_contents_after_a_call_and_a_transfer(world: World) -> None:
    second = LlmAgent(name="second", model=world.model("Better."), include_contents="none")
    turns = (call("price", item="lamp"), call("transfer_to_agent", agent_name="second"))
    await world.play(clerk(world, *turns, sub_agents=[second], tools=[price]), "Question")


@program
async def contents_of_three_invocations(world: World) -> None:
    agent = clerk(world, "One.", call("price", item="lamp"), "Two.", "Three.", tools=[price])
    await world.play(agent, "First", "Second", "Third")


@program
async def a_generation_config(world: World) -> None:
    config = types.GenerateContentConfig(temperature=0.2, max_output_tokens=10, stop_sequences=["END"])
    await world.play(clerk(world, "Hi.", generate_content_config=config), "Hi")


@program
async def an_output_schema(world: World) -> None:
    answer = '{"name": "Paris", "people": 2000000}'
    await world.play(clerk(world, answer, output_schema=Capital, output_key="capital"), "France?")


@program
async def an_output_schema_whose_answer_is_a_code_block(world: World) -> None:
    answer = '```json\n{"name": "Paris", "people": 2}\n```'
    await world.play(clerk(world, answer, output_schema=Capital, output_key="capital"), "France?")


@program
async def an_output_schema_that_the_answer_breaks(world: World) -> None:
    await world.play(
        clerk(world, '{"name": "Paris"}', output_schema=Capital, output_key="capital"), "France?"
    )


@program
async def a_list_as_an_output_schema(world: World) -> None:
    answer = '[{"name": "Paris", "people": 1}]'
    await world.play(clerk(world, answer, output_schema=list[Capital], output_key="capitals"), "France?")


@program
async def a_json_schema_with_references_as_an_output_schema(world: World) -> None:
    schema = {
        "$defs": {
            "City": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        },
        "type": "array",
        "items": {"$ref": "#/$defs/City"},
    }
    answer = '[{"name": "Paris"}]'
    await world.play(clerk(world, answer, output_schema=schema, output_key="cities"), "France?")


@program
async def an_output_key(world: World) -> None:
    await world.play(clerk(world, "One.", "Two.", output_key="said"), "First", "Second")


@program
async def an_output_key_and_a_call(world: World) -> None:
    both = [types.Part(text="Let me see."), call("price", item="lamp")]
    await world.play(clerk(world, both, "20 €", tools=[price], output_key="said"), "Lamp?")


@program
async def an_output_key_and_thoughts(world: World) -> None:
    parts = [types.Part(text="Hm.", thought=True), types.Part(text="A"), types.Part(text="B")]
    await world.play(clerk(world, parts, output_key="said"), "Go")


@program
async def an_input_schema_of_the_root(world: World) -> None:
    await world.play(clerk(world, "Paris", input_schema=Country), '{"country": "France"}')


@program
async def examples_as_a_tool(world: World) -> None:
    example = Example(input=content_of("user", "«Hi»"), output=[content_of("model", "«Good day»")])
    await world.play(clerk(world, "Hi.", tools=[ExampleTool([example])]), "Hi")


@program
async def examples_by_a_provider(world: World) -> None:
    class Provider(BaseExampleProvider):
        def get_examples(self, query: str) -> list[Example]:
            world.note(query=query)
            return [Example(input=content_of("user", "«Hi»"), output=[content_of("model", "«Good day»")])]

    await world.play(clerk(world, "Hi.", tools=[ExampleTool(Provider())]), "Hi there")


@program
async def a_built_in_planner(world: World) -> None:
    planner = BuiltInPlanner(thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=10))
    await world.play(clerk(world, "Hi.", planner=planner), "Hi")


@program
async def a_plan_and_an_answer(world: World) -> None:
    turn = "/*PLANNING*/ 1. Look. /*REASONING*/ It is clear. /*FINAL_ANSWER*/ 20 €"
    await world.play(clerk(world, turn, planner=PlanReActPlanner()), "Hi")


@program
async def a_plan_and_a_call(world: World) -> None:
    turn = [types.Part(text="/*PLANNING*/ 1. Ask for the price."), call("price", item="lamp")]
    agent = clerk(world, turn, "/*FINAL_ANSWER*/ 20 €", planner=PlanReActPlanner(), tools=[price])
    await world.play(
        agent,
        "Hi",
    )


@program
async def tools_of_the_model_side(world: World) -> None:
    config = {"model": "gemini-2.5-flash"}
    model = world.model("Hi.").model_copy(update=config)
    await world.play(LlmAgent(name="clerk", model=model, tools=[google_search]), "Hi")


@program
async def a_url_context(world: World) -> None:
    model = world.model("Hi.").model_copy(update={"model": "gemini-2.5-flash"})
    await world.play(LlmAgent(name="clerk", model=model, tools=[url_context]), "Hi")


class Shelf(BaseToolset):
    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        tools: list[BaseTool] = [FunctionTool(price), FunctionTool(stock)]
        return [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]

    async def close(self) -> None:
        """Nothing to close."""


class CountingShelf(Shelf):
    """Shelf that counts how often it is asked, and adds to the request."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        self.asked += 1
        return await super().get_tools(readonly_context)

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        llm_request.append_instructions([f"«{tool_context.agent_name} knows a shelf.»"])


@program
async def a_toolset(world: World) -> None:
    await world.play(clerk(world, call("stock", item="lamp"), "3", tools=[Shelf()]), "Go")


@program
async def a_toolset_is_asked_once_in_an_invocation(world: World) -> None:
    shelf = CountingShelf()
    turns: list[Turn] = [call("stock", item="lamp"), call("price", item="lamp"), "3", "Bye."]
    await world.play(clerk(world, *turns, tools=[shelf]), "Go", "Stop")
    world.note(asked=shelf.asked)


@program
async def a_toolset_that_changes_the_request_before_its_tools_do(world: World) -> None:
    tools = [ExampleTool([Example(input=content_of("user", "«a»"), output=[content_of("model", "«b»")])])]
    await world.play(clerk(world, "3", tools=[CountingShelf(), *tools]), "Go")


@program
async def a_toolset_with_a_prefix(world: World) -> None:
    shelf = Shelf(tool_name_prefix="shop")
    await world.play(clerk(world, call("shop_stock", item="lamp"), "3", tools=[shelf]), "Go")


@program
async def a_toolset_with_a_list_of_names(world: World) -> None:
    await world.play(
        clerk(world, call("price", item="lamp"), "20", tools=[Shelf(tool_filter=["price"])]), "Go"
    )


@program
async def a_toolset_with_a_predicate(world: World) -> None:
    def is_shown(tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool:
        return tool.name == "stock"

    await world.play(clerk(world, call("stock", item="lamp"), "3", tools=[Shelf(tool_filter=is_shown)]), "Go")


@program
async def a_model_of_the_parent(world: World) -> None:
    helper = LlmAgent(name="helper", description="«Helps.»")
    turns = (call("transfer_to_agent", agent_name="helper"), "Helped.")
    await world.play(clerk(world, *turns, sub_agents=[helper]), "Hi")


@program
async def a_message_of_several_parts(world: World) -> None:
    image = types.Part.from_bytes(data=b"png", mime_type="image/png")
    await world.play(clerk(world, "A lamp."), [types.Part(text="What is this?"), image])


@program
async def a_state_delta_of_the_message(world: World) -> None:
    agent = clerk(world, "Hi.", instruction="«Greet {name}.»")
    await world.play(agent, "Hi", state_delta={"name": "Ada", "user:x": 1, "temp:y": 2})

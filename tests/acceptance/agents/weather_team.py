"""A weather agent with two sub-agents that greet and say goodbye, and with two guard rails."""

from typing import Any

from google.genai import types

from runtime.agents import Agent
from runtime.agents.callback_context import CallbackContext
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_context import ToolContext

MODEL = "gemini-2.5-flash"
CELSIUS = {"london": 15, "new york": 25, "paris": 19}
FORBIDDEN_WORD = "BLOCK"
FORBIDDEN_CITY = "paris"


def get_weather(city: str, tool_context: ToolContext) -> dict[str, Any]:
    """Tells the weather in a city, in the unit that the person prefers.

    Args:
        city: The name of the city, for example "London".
    """
    celsius = CELSIUS.get(city.lower())
    if celsius is None:
        return {"status": "error", "error_message": f"There is no weather report for {city}."}
    tool_context.state["last_city_checked"] = city
    if tool_context.state.get("user:unit", "Celsius") == "Fahrenheit":
        return {"status": "success", "report": f"{city}: {celsius * 9 / 5 + 32:.0f} °F"}
    return {"status": "success", "report": f"{city}: {celsius} °C"}


def say_hello(name: str = "there") -> str:
    """Greets a person.

    Args:
        name: The person's name, if it is known.
    """
    return f"Hello, {name}!"


def say_goodbye() -> str:
    """Says goodbye."""
    return "Goodbye, and take an umbrella!"


def block_word(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
    """Refuse messages with the forbidden word before they reach the model."""
    texts = [
        c.parts[0].text for c in llm_request.contents if c.role == "user" and c.parts and c.parts[0].text
    ]
    if not texts or FORBIDDEN_WORD not in texts[-1].upper():
        return None
    callback_context.state["guardrail_word_triggered"] = True
    refusal = "I cannot process this request: it contains a blocked word."
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=refusal)]))


def block_city(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any] | None:
    """Refuse calls of the weather tool for the forbidden city."""
    if tool.name != "get_weather" or args.get("city", "").lower() != FORBIDDEN_CITY:
        return None
    tool_context.state["guardrail_city_triggered"] = True
    return {"status": "error", "error_message": f"Reports for {args['city']} are switched off by policy."}


greeting_agent = Agent(
    name="greeting_agent",
    model=MODEL,
    description="Handles simple greetings with the say_hello tool.",
    instruction="Greet the person with the say_hello tool, and do nothing else.",
    tools=[say_hello],
)

farewell_agent = Agent(
    name="farewell_agent",
    model=MODEL,
    description="Handles simple farewells with the say_goodbye tool.",
    instruction="Say goodbye with the say_goodbye tool, and do nothing else.",
    tools=[say_goodbye],
)

root_agent = Agent(
    name="weather_agent",
    model=MODEL,
    description="Answers questions about the weather; hands greetings and farewells over.",
    instruction="Use get_weather for questions about the weather. Leave greetings and farewells to your sub-agents.",
    tools=[get_weather],
    sub_agents=[greeting_agent, farewell_agent],
    output_key="last_weather_report",
    before_model_callback=block_word,
    before_tool_callback=block_city,
)

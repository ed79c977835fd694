"""The weather team: transfer, `output_key`, state scopes, guard rails on model and tool (contract A4, A6, C2, L8)."""

from __future__ import annotations

from tests.acceptance.agents.stage import Stage
from tests.acceptance.agents.weather_team import root_agent
from tests.fakes import call
from tests.unit.runtime.conversation import outline


async def test_the_team_greets_reports_and_says_goodbye_in_one_session() -> None:
    stage = Stage(
        root_agent,
        weather_agent=[
            call("transfer_to_agent", agent_name="greeting_agent"),
            call("get_weather", city="London"),
            "It is 59 °F in London.",
            call("transfer_to_agent", agent_name="farewell_agent"),
        ],
        greeting_agent=[
            call("say_hello", name="Ada"),
            "Hello, Ada!",
            call("transfer_to_agent", agent_name="weather_agent"),
        ],
        farewell_agent=[call("say_goodbye"), "Goodbye!"],
    )
    await stage.open(**{"user:unit": "Fahrenheit"})

    assert outline(await stage.say("Hi, I am Ada")) == [
        "weather_agent: transfer_to_agent()",
        "weather_agent: =transfer_to_agent",
        "greeting_agent: say_hello()",
        "greeting_agent: =say_hello",
        "greeting_agent: Hello, Ada!",
    ]
    report = await stage.say("What is the weather in London?")
    assert outline(report) == [
        "greeting_agent: transfer_to_agent()",  # the agent that spoke last answers first (contract L8)
        "greeting_agent: =transfer_to_agent",
        "weather_agent: get_weather()",
        "weather_agent: =get_weather",
        "weather_agent: It is 59 °F in London.",
    ]
    assert report[3].get_function_responses()[0].response == {"status": "success", "report": "London: 59 °F"}
    assert report[3].actions.state_delta == {"last_city_checked": "London"}
    assert report[4].actions.state_delta == {"last_weather_report": "It is 59 °F in London."}
    assert outline(await stage.say("Thanks, bye"))[-1] == "farewell_agent: Goodbye!"
    assert (await stage.stored()).state == {
        "user:unit": "Fahrenheit",
        "last_city_checked": "London",
        "last_weather_report": "It is 59 °F in London.",
    }


async def test_the_instruction_lists_the_agents_to_transfer_to() -> None:
    stage = Stage(
        root_agent,
        weather_agent=[call("transfer_to_agent", agent_name="greeting_agent")],
        greeting_agent=["Hello!"],
    )
    await stage.open()
    await stage.say("Hi")
    assert "Handles simple farewells" in stage.instruction("weather_agent")
    assert "Answers questions about the weather" in stage.instruction("greeting_agent")
    assert "[weather_agent] called tool `transfer_to_agent`" in " ".join(stage.contents("greeting_agent"))


async def test_a_forbidden_word_never_reaches_the_model() -> None:
    stage = Stage(root_agent)
    await stage.open()
    [refusal] = await stage.say("BLOCK the request for the weather in Tokyo")
    assert refusal.text() == "I cannot process this request: it contains a blocked word."
    assert stage.models["weather_agent"].requests == []
    assert (await stage.stored()).state == {
        "guardrail_word_triggered": True,
        "last_weather_report": refusal.text(),
    }


async def test_a_forbidden_city_never_reaches_the_tool() -> None:
    stage = Stage(
        root_agent, weather_agent=[call("get_weather", city="Paris"), "I may not tell about Paris."]
    )
    await stage.open()
    _, response, last = await stage.say("How is Paris?")
    assert response.get_function_responses()[0].response == {
        "status": "error",
        "error_message": "Reports for Paris are switched off by policy.",
    }
    assert (await stage.stored()).state == {
        "guardrail_city_triggered": True,
        "last_weather_report": last.text(),
    }

"""Contract: the demo model answers requests of any agent by rules, with at most one call for each message."""

from collections.abc import Callable
from typing import Any, Literal

import pytest

from adk_site.agents import help_desk, order_status, refund_order, write_invoice, write_report
from adk_site.demo.model import DemoModel
from runtime import types
from runtime.events.quotation import HEADING, quote
from runtime.models import LlmRequest, LlmResponse
from runtime.tools import FunctionTool, LongRunningFunctionTool
from runtime.tools.transfer_to_agent_tool import TransferToAgentTool
from sessions_app.history.event_marks import wake_up
from sessions_app.scheduling import cancel_scheduled_task, schedule_task
from tests.fakes import say, text_content


def get_weather(city: str, unit: Literal["celsius", "kelvin"] = "celsius") -> None:
    """Tell the weather of a city.

    Args:
        city: The city.
    """


def roll_dice(count: int, sides: int = 6) -> None:
    """Roll dice.

    Args:
        count: The number of dice to roll.
        sides: The number of sides of each.
    """


def remember_name(name: str) -> None:
    """Remember what the person is called.

    Args:
        name: The person's name.
    """


def send_note(message: str, urgent: bool = False, tags: list[str] | None = None) -> None:
    """Send a note to a colleague.

    Args:
        message: The text of the note.
        urgent: True when the note cannot wait.
        tags: Search words.
    """


def draw_map(city: str) -> None:
    """Draw a map, which takes hours."""


FUNCTIONS = (get_weather, roll_dice, remember_name, send_note)


def make_request(
    *contents: types.Content | str, functions: tuple[Callable[..., Any], ...] = FUNCTIONS
) -> LlmRequest:
    """Return the request of an agent with these functions; strings are messages of the person."""
    request = LlmRequest(contents=[say(item) if isinstance(item, str) else item for item in contents])
    request.append_tools([FunctionTool(function) for function in functions])
    return request


def response_content(name: str, response: dict[str, Any]) -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_function_response(name=name, response=response)])


def call_content(name: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args={})])


async def answer(request: LlmRequest, stream: bool = False) -> list[LlmResponse]:
    return [response async for response in DemoModel(delay=0).generate_content_async(request, stream)]


def part_of(response: LlmResponse) -> types.Part:
    assert response.content is not None and response.content.parts is not None
    return response.content.parts[0]


async def text_of(request: LlmRequest) -> str:
    return part_of((await answer(request))[-1]).text or ""


async def call_of(request: LlmRequest) -> tuple[str | None, dict[str, Any] | None]:
    call = part_of((await answer(request))[-1]).function_call
    assert call is not None, "the model called no function"
    return call.name, call.args


@pytest.mark.parametrize(
    ("words", "name", "args"),
    [
        ("what's the weather in London?", "get_weather", {"city": "London"}),
        ("weather for Rome, in kelvin", "get_weather", {"city": "Rome", "unit": "kelvin"}),
        ('the weather of "New York" please', "get_weather", {"city": "New York"}),
        ("roll 2 dice", "roll_dice", {"count": 2}),
        ("please roll 3 dice with 20 sides", "roll_dice", {"count": 3, "sides": 20}),
        ("my name is Ada", "remember_name", {"name": "Ada"}),
        ("hi, my name is ada lovelace and I am new", "remember_name", {"name": "ada lovelace"}),
        (
            "send a note: the door is open",
            "send_note",
            {"message": "the door is open"},
        ),
        ("send an urgent note", "send_note", {"message": "send an urgent note", "urgent": True}),
        ("send a note: ink, paper", "send_note", {"message": "ink, paper", "tags": ["ink", "paper"]}),
        ("send a note: roll the dice", "send_note", {"message": "roll the dice"}),
    ],
)
async def test_picks_the_tool_that_fits_the_words_and_fills_its_arguments(
    words: str, name: str, args: dict[str, Any]
) -> None:
    assert await call_of(make_request(words)) == (name, args)


async def test_asks_for_a_required_argument_that_the_words_leave_open() -> None:
    assert (
        await text_of(make_request("roll the dice"))
        == "For that I need the number of dice to roll. Please tell me."
    )


async def test_takes_the_next_short_message_as_the_answer_to_its_question() -> None:
    question = text_content("For that I need the number of dice to roll. Please tell me.")
    assert await call_of(make_request("roll the dice", question, "4")) == ("roll_dice", {"count": 4})


async def test_the_texts_of_files_are_no_words_of_the_person() -> None:
    message = types.Content(
        role="user",
        parts=[
            types.Part(text="weather in Oslo"),
            types.Part(text="The file 'dice.txt':\nroll 7 dice, roll dice"),
        ],
    )
    assert await call_of(make_request(message)) == ("get_weather", {"city": "Oslo"})


async def test_reads_only_the_last_message_when_nothing_was_asked() -> None:
    assert await call_of(make_request("roll 2 dice", text_content("Done."), "weather in Oslo")) == (
        "get_weather",
        {"city": "Oslo"},
    )


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        ("hello", "Hello! I am a small demo model"),
        ("Thanks!", "You are welcome!"),
        ("bye", "Goodbye!"),
        ("what can you do?", "I am a small demo model"),
        ("ahem", "I do not know what to do with that."),
    ],
)
async def test_small_talk_calls_nothing(words: str, beginning: str) -> None:
    assert (await text_of(make_request(words))).startswith(beginning)


async def test_says_what_it_is_and_lists_the_tools_that_it_was_given() -> None:
    text = await text_of(make_request("what can you do?", functions=(roll_dice,)))
    assert "demo model" in text and "- **roll dice**: Roll dice." in text and "weather" not in text


async def test_an_agent_without_tools_says_so() -> None:
    assert "Here I was given none." in await text_of(make_request("what can you do?", functions=()))


async def test_greets_by_the_name_that_the_instruction_tells() -> None:
    request = make_request("hello")
    request.append_instructions(["The person is called Ada. Be kind."])
    assert (await text_of(request)).startswith("Hello Ada!")


class TestTransfer:
    @staticmethod
    def desk(*contents: types.Content | str) -> LlmRequest:
        request = make_request(*contents, functions=(roll_dice,))
        request.append_instructions(["- weather_desk: Weather and climate.\n- games: Board games."])
        request.append_tools([TransferToAgentTool(["weather_desk", "games"])])
        return request

    async def test_goes_to_the_agent_whose_description_fits(self) -> None:
        assert await call_of(self.desk("how is the climate?")) == (
            "transfer_to_agent",
            {"agent_name": "weather_desk"},
        )

    async def test_a_tool_that_matches_better_than_an_agent_is_called_instead(self) -> None:
        assert await call_of(self.desk("roll 2 dice in a board game")) == ("roll_dice", {"count": 2})

    async def test_an_agent_is_preferred_to_a_tool_that_lacks_an_argument(self) -> None:
        request = make_request(
            "Write a report on sales", functions=(order_status, refund_order, write_invoice)
        )
        request.append_instructions([f"- help_desk: {help_desk.description}"])
        request.append_tools([TransferToAgentTool(["help_desk"])])
        assert await call_of(request) == ("transfer_to_agent", {"agent_name": "help_desk"})

    async def test_hands_a_message_over_once(self) -> None:
        context = types.Content(
            role="user",
            parts=[
                types.Part(text=HEADING),
                types.Part(text=quote("[games] called tool `transfer_to_agent`", '{"agent_name": "x"}')),
            ],
        )
        assert (await text_of(self.desk("how is the climate?", context))).startswith(
            "I am a small demo model"
        )


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"result": 7}, "**roll dice**: 7."),
        ({"result": None}, "**roll dice** is done."),
        ({"error": "The dice are lost."}, "**roll dice** did not work: The dice are lost."),
        ({"message": "You rolled a seven."}, "You rolled a seven."),
        (
            {"status": "succeeded", "summary": "Seven.", "files": ["a.txt", "b.txt"]},
            "Seven.\n\n- Files: a.txt, b.txt",
        ),
        (
            {"first_die": 3, "lucky": True, "of": {"sides": 6}},
            "Here is what I got from **roll dice**:\n\n- First die: 3\n- Lucky: yes\n- Of: sides 6",
        ),
        ({"status": "cancelled", "error": ""}, "**roll dice** was cancelled."),
    ],
)
async def test_tells_a_result_as_people_read_it_and_calls_nothing_more(
    response: dict[str, Any], text: str
) -> None:
    request = make_request("roll 2 dice", call_content("roll_dice"), response_content("roll_dice", response))
    assert await text_of(request) == text


async def test_says_that_a_long_running_call_has_started_and_later_tells_its_result() -> None:
    request = make_request(
        "draw a map of Rome",
        call_content("draw_map"),
        response_content("draw_map", {"status": "queued", "job": 1}),
    )
    request.append_tools([LongRunningFunctionTool(draw_map)])
    assert (await text_of(request)).startswith("I have started **draw map**.")
    result = {"status": "succeeded", "summary": "All roads are there."}
    request.contents[-1] = response_content("draw_map", result)
    assert await text_of(request) == "All roads are there."


async def test_the_streamed_words_add_up_to_the_final_response() -> None:
    *partials, final = await answer(make_request("what can you do?"), stream=True)
    assert len(partials) > 10 and all(response.partial for response in partials)
    assert "".join(part_of(response).text or "" for response in partials) == part_of(final).text
    assert not final.partial and final.finish_reason is types.FinishReason.STOP


async def test_a_call_comes_in_one_piece() -> None:
    assert len(await answer(make_request("roll 2 dice"), stream=True)) == 1


async def test_reports_words_as_usage() -> None:
    usage = (await answer(make_request("Thanks a lot!")))[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count) == (3, 3, 6)


async def test_an_empty_request_is_answered_too() -> None:
    assert await text_of(LlmRequest())


class TestTimes:
    """Words with a time go to a tool that takes a start time; the other words are its task."""

    @staticmethod
    def desk(words: str) -> LlmRequest:
        request = make_request(words, functions=(roll_dice,))
        request.append_tools([write_report, FunctionTool(schedule_task), FunctionTool(cancel_scheduled_task)])
        request.append_instructions(["- orders: Orders and their status, refunds, payments."])
        request.append_tools([TransferToAgentTool(["orders"])])
        return request

    @pytest.mark.parametrize(
        ("words", "args"),
        [
            (
                "In one minute, check the status of order 1003",
                {"task": "check the status of order 1003", "run_at": "in 1 minutes"},
            ),
            ("every minute look at order 1003", {"task": "look at order 1003", "every": "1 minutes"}),
            (
                "Remind me every day at 9 to open the shop",
                {"task": "Remind me to open the shop", "every": "0 9 * * *"},
            ),
            ("every monday at 9 roll 2 dice", {"task": "roll 2 dice", "every": "0 9 * * 1"}),
            (
                "every weekday at 17:30, roll 2 dice, five times",
                {"task": "roll 2 dice", "every": "30 17 * * 1-5", "most_runs": 5},
            ),
        ],
    )
    async def test_a_sentence_with_a_time_is_scheduled(self, words: str, args: dict[str, Any]) -> None:
        assert await call_of(self.desk(words)) == ("schedule_task", args)

    async def test_a_delayable_tool_is_called_with_its_start_time(self) -> None:
        assert await call_of(self.desk("Write a report on sales in 2 hours")) == (
            "write_report",
            {"topic": "sales", "run_at": "in 2 hours"},
        )

    async def test_a_due_task_is_done_like_a_message(self) -> None:
        request = self.desk("")
        request.contents = [wake_up("check the status of order 1003")]
        assert await call_of(request) == ("transfer_to_agent", {"agent_name": "orders"})
        request.contents = [wake_up("Remind me to breathe")]
        assert await text_of(request) == "It is time: Remind me to breathe"

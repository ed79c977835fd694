"""Contract: the demo model calls what a message of its script asks for, and nothing for any other message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from adk_site.agents import help_desk, orders, starters, technical
from adk_site.demo.model import DemoModel
from adk_site.demo.returns import returns
from adk_site.demo.script import EXAMPLES, REPORT_CHOICES
from runtime import types
from runtime.agents import LlmAgent
from runtime.events import Event
from runtime.events.quotation import HEADING, quote
from runtime.models import LlmRequest, LlmResponse
from runtime.tools import BaseTool, FunctionTool, LongRunningFunctionTool
from runtime.tools.retrieval import KnowledgeToolset
from runtime.tools.transfer_to_agent_tool import TransferToAgentTool
from sessions_app.history.event_marks import wake_up
from sessions_app.rendering.markdown.render import render_markdown
from sessions_app.rendering.sources import sources_of
from tests.fakes import say, text_content

Calls = list[tuple[str | None, dict[str, Any] | None]]


def roll_dice(count: int, sides: int = 6) -> None:
    """Roll dice."""


def draw_map(city: str) -> None:
    """Draw a map, which takes hours."""


def make_request(
    *contents: types.Content | str, tools: Sequence[Any] = (), agents: Sequence[str] = ()
) -> LlmRequest:
    """Return the request of an agent with tools, and with agents to transfer to; strings are messages of the user."""
    request = LlmRequest(contents=[say(item) if isinstance(item, str) else item for item in contents])
    request.append_tools([tool if isinstance(tool, BaseTool) else FunctionTool(tool) for tool in tools])
    if agents:
        request.append_tools([TransferToAgentTool(list(agents))])
    return request


def request_of(agent: LlmAgent, *contents: types.Content | str) -> LlmRequest:
    """Return the request of one of the demo agents."""
    others = [other.name for other in (help_desk, orders, technical, returns) if other is not agent]
    tools = [tool.tool if isinstance(tool, KnowledgeToolset) else tool for tool in agent.tools]
    return make_request(*contents, tools=tools, agents=others)


def response_content(name: str, response: dict[str, Any]) -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_function_response(name=name, response=response)])


def call_content(name: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args={})])


async def answer(request: LlmRequest, stream: bool = False) -> list[LlmResponse]:
    return [response async for response in DemoModel(delay=0).generate_content_async(request, stream)]


async def parts_of(request: LlmRequest) -> list[types.Part]:
    content = (await answer(request))[-1].content
    assert content is not None and content.parts
    return content.parts


async def text_of(request: LlmRequest) -> str:
    return "".join(part.text or "" for part in await parts_of(request))


async def calls_of(request: LlmRequest) -> Calls:
    calls = [part.function_call for part in await parts_of(request) if part.function_call]
    return [(call.name, call.args) for call in calls]


@pytest.mark.parametrize(
    ("agent", "words", "calls"),
    [
        (orders, "Where is order 1001?", [("order_status", {"order_number": 1001})]),
        (orders, "check the status of order 1003", [("order_status", {"order_number": 1003})]),
        (orders, "1042", [("order_status", {"order_number": 1042})]),
        (
            orders,
            "Compare orders 1001 and 1002",
            [("order_status", {"order_number": 1001}), ("order_status", {"order_number": 1002})],
        ),
        (orders, "Please refund order 1042!", [("refund_order", {"order_number": 1042})]),
        (orders, "refund it", [("refund_order", {})]),
        (orders, "write the invoice of order 1042", [("write_invoice", {"order_number": 1042})]),
        (technical, "My wifi is slow.", [("find_guide", {"problem": "My wifi is slow"})]),
        (technical, "I can\u2019t sign in", [("find_guide", {"problem": "I can't sign in"})]),
        (help_desk, "my name is Ada", [("remember_name", {"name": "Ada"})]),
        (help_desk, "Call me Ada", [("remember_name", {"name": "Ada"})]),
        (help_desk, "Who am I?", [("show_profile", {})]),
        (help_desk, "What do I like?", [("load_memory", {"query": "I like"})]),
        (
            help_desk,
            "What does the handbook say about late returns?",
            [("search_knowledge", {"query": "late returns"})],
        ),
        (help_desk, "open a ticket: no light", [("open_ticket", {"problem": "no light"})]),
        (help_desk, "close the ticket", [("close_ticket", {})]),
        (help_desk, "Show my reminders", [("list_scheduled_tasks", {})]),
        (help_desk, "cancel reminder 12", [("cancel_scheduled_task", {"id": 12})]),
        (help_desk, "Write a report on last year's sales", [("write_report", {"topic": "sales"})]),
        (
            help_desk,
            "write me a precise report on Returns by month",
            [("write_report", {"precise": True, "topic": "returns", "group_by": "month"})],
        ),
        (
            help_desk,
            "Write a report on sales in 2 hours",
            [("write_report", {"topic": "sales", "run_at": "in 2 hours"})],
        ),
        (help_desk, "Write a report", [("get_user_choice", {"options": REPORT_CHOICES})]),
        (
            help_desk,
            "In one minute, check the status of order 1003",
            [("schedule_task", {"task": "check the status of order 1003", "run_at": "in 1 minute"})],
        ),
        (
            help_desk,
            "every minute look at order 1003",
            [("schedule_task", {"task": "look at order 1003", "every": "1 minute"})],
        ),
        (
            help_desk,
            "Every weekday at 17:30, look up order 1003",
            [("schedule_task", {"task": "look up order 1003", "every": "30 17 * * 1-5"})],
        ),
        (
            help_desk,
            "Every Monday at 9, look up order 1003",
            [("schedule_task", {"task": "look up order 1003", "every": "0 9 * * 1"})],
        ),
        (
            help_desk,
            "remind me every sunday at 8:05 to rest",
            [("schedule_task", {"task": "remind me to rest", "every": "05 8 * * 0"})],
        ),
        (
            help_desk,
            "Remind me every day at 9 to open the shop",
            [("schedule_task", {"task": "Remind me to open the shop", "every": "0 9 * * *"})],
        ),
        (help_desk, "Where is order 1001?", [("transfer_to_agent", {"agent_name": "orders"})]),
        (help_desk, "Return order 20990", [("transfer_to_agent", {"agent_name": "returns"})]),
        (help_desk, "Compare orders 1001 and 1002", [("transfer_to_agent", {"agent_name": "orders"})]),
        (help_desk, "My printer does not print", [("transfer_to_agent", {"agent_name": "technical"})]),
        (orders, "Write a report", [("transfer_to_agent", {"agent_name": "help_desk"})]),
        (technical, "Remind me in 10 minutes to eat", [("transfer_to_agent", {"agent_name": "help_desk"})]),
    ],
)
async def test_a_sentence_of_the_script_calls_its_tool_or_goes_to_the_agent_that_has_it(
    agent: LlmAgent, words: str, calls: Calls
) -> None:
    assert await calls_of(request_of(agent, words)) == calls


@pytest.mark.parametrize(
    "words",
    [
        "Can you refund order 1042?",
        "Refund order 1042?",
        "How do I refund order 1042?",
        "Was order 1042 refunded",
        "Never refund order 1042",
        "Tell me about last year's sales and refund nothing",
        "What is a report on sales?",
        "Write a poem on last year's sales",
        "Should I open a ticket: yes or no?",
        "Cancel my order",
        "Cancel the report",
        "What will the shop do every day at 9?",
        "Where is order 1001 in 10 minutes?",
        "Every day at 9 I drink tea",
        "Did you remind me in 10 minutes to eat",
        "call me back later",
        "The report said: open a ticket: no light",
        "x" * 100_000,
        "please " * 10_000,
        "!" * 100_000,
        "order 1 and " * 10_000,
        "",
    ],
)
async def test_nothing_is_done_for_a_question_or_a_message_outside_of_the_script(words: str) -> None:
    for agent in (help_desk, orders, technical):
        assert await calls_of(request_of(agent, words)) == []
        assert "Nothing was done" in await text_of(request_of(agent, words))


async def test_a_report_is_no_refund_of_the_order_before() -> None:
    answered = text_content("Order 1001 is delivered.")
    request = request_of(orders, "Where is order 1001?", answered, "Write a report on last year's sales")
    assert await calls_of(request) == [("transfer_to_agent", {"agent_name": "help_desk"})]


async def test_every_example_and_starter_works() -> None:
    for message in [*starters, *(example for _, example in EXAMPLES)]:
        assert "Nothing was done" not in await text_of(request_of(help_desk, message))


@pytest.mark.parametrize(("words", "count"), [("Draw a lamp", 1), ("paint me three pictures of a lamp", 3)])
async def test_it_draws_as_many_pictures_as_are_asked_for(words: str, count: int) -> None:
    (final,) = [
        response for response in await answer(request_of(orders, words), stream=True) if not response.partial
    ]
    assert final.content is not None and final.content.parts is not None
    text, *pictures = final.content.parts
    assert text.text and text.text.endswith("I was thinking of a lamp.")
    drawn = [picture.inline_data.data or b"" for picture in pictures if picture.inline_data]
    assert len(set(drawn)) == count and all(data.startswith(b"\x89PNG") for data in drawn)


@pytest.mark.parametrize(
    ("words", "beginning"),
    [
        ("hello", "Hello! I am a demo model"),
        ("Thanks!", "You are welcome!"),
        ("bye", "Goodbye!"),
        ("Where is my order?", "Which order? Type its number"),
        ("what can you do?", "I am a demo model"),
        ("ahem", "I am a demo model"),
    ],
)
async def test_small_talk_calls_nothing(words: str, beginning: str) -> None:
    assert (await text_of(request_of(orders, words))).startswith(beginning)


async def test_a_sample_of_markdown_has_code_a_table_and_a_formula() -> None:
    html = render_markdown(await text_of(request_of(help_desk, "Show code, a table and a formula")))
    assert "<table>" in html and "<math" in html and 'data-language="python"' in html


async def test_an_answer_with_sources_names_them_for_its_passages() -> None:
    (response,) = await answer(request_of(help_desk, "Show an answer with sources"))
    sources = sources_of(Event(author="help_desk", **response.model_dump(exclude_none=True)))
    assert [source.number for source in sources.listed] == [1, 2, 3]
    assert all(source.url for source in sources.listed)
    assert len(sources.citations[0]) == 3 and "<style>" in sources.suggestions
    (other,) = await answer(request_of(help_desk, "Hello"))
    assert other.grounding_metadata is None


async def test_the_texts_of_files_are_no_words_of_the_user() -> None:
    texts = ["Who am I?", "The file 'a.txt':\nrefund order 1042"]
    message = types.Content(role="user", parts=[types.Part(text=text) for text in texts])
    assert await calls_of(request_of(help_desk, message)) == [("show_profile", {})]


async def test_a_pressed_choice_starts_the_report() -> None:
    pressed = response_content("get_user_choice", {"result": "sales by month"})
    request = request_of(help_desk, "Write a report", call_content("get_user_choice"), pressed)
    assert await calls_of(request) == [("write_report", {"topic": "sales", "group_by": "month"})]


async def test_a_message_handed_over_is_read_by_the_other_agent() -> None:
    quotation = quote("[help_desk] called tool `transfer_to_agent`", '{"agent_name": "orders"}')
    context = types.Content(role="user", parts=[types.Part(text=HEADING), types.Part(text=quotation)])
    request = request_of(orders, "Where is order 1001?", context)
    assert await calls_of(request) == [("order_status", {"order_number": 1001})]


class TestOtherAgents:
    """Agents that the script does not know."""

    async def test_a_tool_is_called_by_its_name(self) -> None:
        request = make_request("roll_dice count=2 sides=20", tools=[roll_dice])
        assert await calls_of(request) == [("roll_dice", {"count": 2, "sides": 20})]

    @pytest.mark.parametrize(
        "words", ["roll_dice 2", "roll dice", "please roll_dice count=2 now", "roll_die"]
    )
    async def test_anything_else_calls_nothing_and_shows_what_can_be_typed(self, words: str) -> None:
        text = await text_of(make_request(words, tools=[roll_dice]))
        assert "- `roll_dice count=… sides=…`" in text and "refund" not in text.lower()

    async def test_an_agent_without_tools_answers(self) -> None:
        assert "demo model" in await text_of(make_request("Where is order 1001?"))

    async def test_an_agent_of_the_same_name_without_the_tool_does_not_hand_over(self) -> None:
        request = make_request("Where is order 1001?", tools=[roll_dice], agents=["help_desk"])
        assert await calls_of(request) == []

    async def test_an_empty_request_is_answered_too(self) -> None:
        assert await text_of(LlmRequest())


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"result": 7}, "**Roll dice**:\n\n- Result: 7"),
        ({"result": None}, "**Roll dice** is done."),
        ({"error": "The dice are lost."}, "**Roll dice** did not work: The dice are lost."),
        ({"message": "You rolled a seven."}, "You rolled a seven."),
        (
            {"status": "succeeded", "summary": "Seven.", "files": ["a.txt", "b.txt"]},
            "Seven.\n\n- Files: \n  1. a.txt\n  2. b.txt",
        ),
        (
            {"first_die": 3, "lucky": True, "of": {"sides": 6}},
            "**Roll dice**:\n\n- First die: 3\n- Lucky: True\n- Of: sides 6",
        ),
    ],
)
async def test_tells_a_result_as_people_read_it_and_calls_nothing_more(
    response: dict[str, Any], text: str
) -> None:
    request = make_request("roll 2 dice", call_content("roll_dice"), response_content("roll_dice", response))
    assert await text_of(request) == text


async def test_tells_scheduled_tasks_in_words() -> None:
    at = "2026-12-01T09:00:00+01:00"
    task = {"id": 12, "task": "look up order 1003", "how_often": "every day", "next_at": at}
    words = "Scheduled:\n\n- 12: look up order 1003, on 01 December at 09:00, every day"
    for tool, result in (
        ("schedule_task", {"status": "scheduled", **task}),
        ("list_scheduled_tasks", {"now": "2026-11-30T08:57:35+00:00", "scheduled_tasks": [task]}),
    ):
        request = make_request("every day", call_content(tool), response_content(tool, result))
        assert await text_of(request) == words
    request.contents[-1] = response_content("list_scheduled_tasks", {"scheduled_tasks": []})
    assert await text_of(request) == "Nothing is scheduled."


async def test_says_that_a_long_running_call_has_started_and_later_tells_its_result() -> None:
    request = make_request(
        "draw_map city=Rome",
        call_content("draw_map"),
        response_content("draw_map", {"status": "queued", "job": 1}),
        tools=[LongRunningFunctionTool(draw_map)],
    )
    assert (await text_of(request)).startswith("**Draw map** has begun.")
    result = {"status": "succeeded", "summary": "All roads are there."}
    request.contents[-1] = response_content("draw_map", result)
    assert await text_of(request) == "All roads are there."


async def test_the_streamed_words_add_up_to_the_final_response() -> None:
    *partials, final = await answer(request_of(help_desk, "what can you do?"), stream=True)
    assert len(partials) > 10 and all(response.partial for response in partials)
    words = [
        part.text or "" for response in partials if response.content for part in response.content.parts or []
    ]
    assert "".join(words) == await text_of(request_of(help_desk, "what can you do?"))
    assert not final.partial and final.finish_reason is types.FinishReason.STOP


async def test_a_call_comes_in_one_piece() -> None:
    assert len(await answer(request_of(help_desk, "Who am I?"), stream=True)) == 1


async def test_reports_words_as_usage() -> None:
    usage = (await answer(request_of(help_desk, "Thanks a lot!")))[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count) == (3, 3, 6)


async def test_a_due_task_is_done_like_a_message() -> None:
    due = request_of(help_desk, wake_up("check the status of order 1003"))
    assert await calls_of(due) == [("transfer_to_agent", {"agent_name": "orders"})]
    assert await text_of(request_of(help_desk, wake_up("Remind me to breathe"))) == "It is time to breathe."

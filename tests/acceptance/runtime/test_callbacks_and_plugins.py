"""Contract C1 to C4, Q5, Q6: what callbacks and plugins change in a conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.errors import PluginError
from runtime.events import Event
from runtime.models import LlmRequest, LlmResponse
from runtime.plugins import BasePlugin
from runtime.run_config import RunConfig, StreamingMode
from tests.fakes import ScriptedModel, call, requests_of, say, text_content
from tests.unit.runtime.conversation import Conversation, outline

HOOKS = ("before_agent", "before_model", "after_model", "before_tool", "after_tool", "after_agent")


def response(text: str) -> LlmResponse:
    return LlmResponse(content=text_content(text))


def ping() -> str:
    """Ping."""
    return "pong"


def fails() -> str:
    """Fail."""
    raise LookupError("lost")


def clerk(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=[ping, fails], **fields)


def delta_of(events: list[Event]) -> list[dict[str, Any]]:
    return [event.actions.state_delta for event in events]


def results(event: Event) -> list[Any]:
    return [one.response for one in event.get_function_responses()]


class Noting(BasePlugin):
    """Notes which hooks are asked, and answers those that it is told to."""

    def __init__(self, name: str, noted: list[str], **answers: Any) -> None:
        super().__init__(name)
        self.noted = noted
        self.answers = answers

    def _note(self, hook: str) -> Any:
        self.noted.append(f"{self.name} {hook}")
        answer = self.answers.get(hook)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def on_user_message_callback(self, **kwargs: Any) -> Any:
        return self._note("on_user_message")

    async def before_run_callback(self, **kwargs: Any) -> Any:
        return self._note("before_run")

    async def after_run_callback(self, **kwargs: Any) -> None:
        self._note("after_run")

    async def on_event_callback(self, **kwargs: Any) -> Any:
        return self._note("on_event")

    async def before_agent_callback(self, **kwargs: Any) -> Any:
        return self._note("before_agent")

    async def after_agent_callback(self, **kwargs: Any) -> Any:
        return self._note("after_agent")

    async def before_model_callback(self, **kwargs: Any) -> Any:
        return self._note("before_model")

    async def after_model_callback(self, **kwargs: Any) -> Any:
        return self._note("after_model")

    async def on_model_error_callback(self, **kwargs: Any) -> Any:
        return self._note("on_model_error")

    async def before_tool_callback(self, **kwargs: Any) -> Any:
        return self._note("before_tool")

    async def after_tool_callback(self, **kwargs: Any) -> Any:
        return self._note("after_tool")

    async def on_tool_error_callback(self, **kwargs: Any) -> Any:
        return self._note("on_tool_error")


class TestCallbacks:
    async def test_they_are_called_in_the_order_of_a_turn(self) -> None:
        """Contract C1."""
        noted: list[str] = []

        def noting(hook: str) -> Any:
            def note(**kwargs: Any) -> None:
                noted.append(hook)

            return note

        agent = clerk(call("ping"), "done", **{f"{hook}_callback": noting(hook) for hook in HOOKS})
        await Conversation(agent).say("go")
        step = ["before_model", "after_model"]
        assert noted == ["before_agent", *step, "before_tool", "after_tool", *step, "after_agent"]

    async def test_of_a_list_the_first_answer_wins(self) -> None:
        """Contract C1, Q5."""
        noted: list[str] = []

        def callback(name: str, answer: types.Content | None) -> Any:
            async def note(callback_context: Any) -> types.Content | None:
                noted.append(name)
                return answer

            return note

        some = [callback("a", None), callback("b", text_content("b")), callback("c", text_content("c"))]
        assert outline(await Conversation(clerk(before_agent_callback=some)).say("go")) == ["clerk: b"]
        assert noted == ["a", "b"]

    async def test_an_empty_answer_is_none(self) -> None:
        """Contract Q5: the first truthy result ends a list."""
        agent = clerk(
            call("ping"),
            "done",
            before_tool_callback=[lambda **kwargs: {}, lambda **kwargs: {"from": "second"}],
        )
        assert results((await Conversation(agent).say("go"))[1]) == [{"from": "second"}]

    async def test_before_agent_may_reply_in_the_agents_place(self) -> None:
        """Contract C2."""
        agent = clerk(before_agent_callback=lambda callback_context: text_content("closed"))
        assert outline(await Conversation(agent).say("go")) == ["clerk: closed"]
        assert requests_of(agent) == []

    async def test_after_agent_may_add_an_event(self) -> None:
        """Contract C2."""
        agent = clerk("done", after_agent_callback=lambda callback_context: text_content("bye"))
        assert outline(await Conversation(agent).say("go")) == ["clerk: done", "clerk: bye"]

    async def test_before_model_may_answer_in_the_models_place(self) -> None:
        """Contract C2."""
        agent = clerk(before_model_callback=lambda callback_context, llm_request: response("cached"))
        assert outline(await Conversation(agent).say("go")) == ["clerk: cached"]
        assert requests_of(agent) == []

    async def test_before_model_may_change_the_request_of_this_call_only(self) -> None:
        """Contract C2, Q13."""

        def change(callback_context: Any, llm_request: LlmRequest) -> None:
            llm_request.append_instructions(["Be brief."])
            llm_request.contents.append(say("extra"))

        agent = clerk(call("ping"), "done", before_model_callback=change)
        await Conversation(agent).say("go")
        first, second = requests_of(agent)
        assert [len(first.contents), len(second.contents)] == [2, 4]
        assert str(second.config.system_instruction).count("Be brief.") == 1

    async def test_after_model_may_replace_the_response(self) -> None:
        """Contract C2."""

        def shout(callback_context: Any, llm_response: LlmResponse) -> LlmResponse:
            return response((llm_response.content.parts[0].text or "").upper())

        conversation = Conversation(clerk("quiet", after_model_callback=shout))
        assert outline(await conversation.say("go")) == ["clerk: QUIET"]
        assert outline((await conversation.session()).events)[-1] == "clerk: QUIET"

    async def test_on_model_error_may_answer_for_the_model(self) -> None:
        """Contract C1."""
        seen = []

        def answer(callback_context: Any, llm_request: LlmRequest, error: Exception) -> LlmResponse:
            seen.append(str(error))
            callback_context.state["failed"] = True
            return response("Ask me later.")

        agent = clerk(ConnectionError("no route"), on_model_error_callback=answer)
        [event] = await Conversation(agent).say("go")
        assert (event.text(), event.actions.state_delta, seen) == (
            "Ask me later.",
            {"failed": True},
            ["no route"],
        )

    async def test_before_tool_may_answer_in_the_tools_place(self) -> None:
        """Contract C2."""
        agent = clerk(call("fails"), "done", before_tool_callback=lambda tool, args, tool_context: {"ok": 1})
        assert results((await Conversation(agent).say("go"))[1]) == [{"ok": 1}]

    async def test_after_tool_may_replace_the_result(self) -> None:
        """Contract C2."""
        seen = []

        def change(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> dict[str, str]:
            seen.append((tool.name, args, tool_response))
            return {"changed": "yes"}

        agent = clerk(call("ping"), "done", after_tool_callback=change)
        assert results((await Conversation(agent).say("go"))[1]) == [{"changed": "yes"}]
        assert seen == [("ping", {}, "pong")]

    async def test_the_state_that_they_change_is_committed_with_the_next_event(self) -> None:
        """Contract C3."""

        def setting(hook: str) -> Any:
            def note(**kwargs: Any) -> None:
                context = kwargs.get("callback_context") or kwargs["tool_context"]
                context.state[hook] = context.state.get(hook, 0) + 1

            return note

        agent = clerk(call("ping"), "done", **{f"{hook}_callback": setting(hook) for hook in HOOKS})
        conversation = Conversation(agent)
        events = await conversation.say("go")
        assert delta_of(events) == [
            {"before_agent": 1},
            {"before_model": 1, "after_model": 1},
            {"before_tool": 1, "after_tool": 1},
            {"before_model": 2, "after_model": 2},
            {"after_agent": 1},
        ]
        assert [event.content is None for event in events] == [True, False, False, False, True]
        state = (await conversation.session()).state
        assert state == dict.fromkeys(HOOKS, 1) | {"before_model": 2, "after_model": 2}

    async def test_state_and_reply_of_an_agent_callback_are_one_event(self) -> None:
        """Contract C2, C3."""

        def reply(callback_context: Any) -> types.Content:
            callback_context.state["seen"] = True
            return text_content("closed")

        [event] = await Conversation(clerk(before_agent_callback=reply)).say("go")
        assert (event.text(), event.actions.state_delta) == ("closed", {"seen": True})

    async def test_state_set_while_streaming_is_committed_once_with_the_whole(self) -> None:
        """Contract C3, L4."""

        def count(callback_context: Any, llm_response: LlmResponse) -> None:
            callback_context.state["seen"] = callback_context.state.get("seen", 0) + 1

        conversation = Conversation(clerk("one two", after_model_callback=count))
        events = await conversation.say("go", RunConfig(streaming_mode=StreamingMode.SSE))
        assert [event.partial for event in events] == [True, True, None]
        session = await conversation.session()
        assert session.state == {"seen": 3}
        assert session.events[-1].actions.state_delta == {"seen": 3}


class TestPlugins:
    async def test_they_are_asked_for_every_step_of_an_invocation(self) -> None:
        """Contract C4."""
        noted: list[str] = []
        await Conversation(clerk(call("ping"), "done"), plugins=[Noting("p", noted)]).say("go")
        step = ["before_model", "after_model", "on_event"]
        assert [line.removeprefix("p ") for line in noted] == [
            "on_user_message",
            "before_run",
            "before_agent",
            *step,
            "before_tool",
            "after_tool",
            "on_event",
            *step,
            "after_agent",
            "after_run",
        ]

    async def test_they_are_asked_in_order_before_the_agents_own_callbacks(self) -> None:
        """Contract C4."""
        noted: list[str] = []
        agent = clerk("done", before_model_callback=lambda **kwargs: noted.append("agent before_model"))
        await Conversation(agent, plugins=[Noting("b", noted), Noting("a", noted)]).say("go")
        asked = [line for line in noted if "before_model" in line]
        assert asked == ["b before_model", "a before_model", "agent before_model"]

    @pytest.mark.parametrize(
        ("hook", "answer", "expected"),
        [
            ("before_run", text_content("closed"), ["clerk: closed"]),
            ("before_agent", text_content("closed"), ["clerk: closed"]),
            ("before_model", response("closed"), ["clerk: closed"]),
            ("before_tool", {"from": "plugin"}, ["clerk: ping()", "clerk: =ping", "clerk: done"]),
        ],
    )
    async def test_when_a_plugin_answers_nobody_else_is_asked(
        self, hook: str, answer: Any, expected: list[str]
    ) -> None:
        """Contract Q6."""
        noted: list[str] = []
        own = (
            {}
            if hook == "before_run"
            else {f"{hook}_callback": lambda **kwargs: noted.append(f"agent {hook}")}
        )
        agent = clerk(call("ping"), "done", **own)
        plugins = [Noting("first", noted, **{hook: answer}), Noting("second", noted)]
        assert outline(await Conversation(agent, plugins=plugins).say("go")) == expected
        assert [line for line in noted if line.endswith(f" {hook}")] == [f"first {hook}"]

    async def test_errors_of_model_and_tools_are_offered_to_them(self) -> None:
        """Contract C4, T4."""
        noted: list[str] = []
        plugin = Noting("p", noted, on_model_error=response("later"), on_tool_error={"error": "caught"})
        conversation = Conversation(clerk(call("fails"), ConnectionError("away")), plugins=[plugin])
        events = await conversation.say("go")
        assert outline(events) == ["clerk: fails()", "clerk: =fails", "clerk: later"]
        assert results(events[1]) == [{"error": "caught"}]

    async def test_a_changed_message_is_what_is_stored_and_sent(self) -> None:
        """Contract Q6."""
        agent = clerk("done")
        plugin = Noting("p", [], on_user_message=say("changed"))
        conversation = Conversation(agent, plugins=[plugin])
        await conversation.say("original")
        assert outline((await conversation.session()).events)[0] == "user: changed"
        assert requests_of(agent)[0].contents == [say("changed")]

    async def test_a_changed_event_is_yielded_and_the_original_is_stored(self) -> None:
        """Contract Q6."""
        other = Event(author="clerk", content=text_content("for your eyes"))
        conversation = Conversation(clerk("done"), plugins=[Noting("p", [], on_event=other)])
        assert outline(await conversation.say("go")) == ["clerk: for your eyes"]
        assert outline((await conversation.session()).events)[-1] == "clerk: done"

    @pytest.mark.parametrize(
        "hook", ["on_user_message", "before_run", "before_agent", "before_model", "before_tool", "on_event"]
    )
    async def test_an_error_in_a_hook_ends_the_invocation_and_names_plugin_and_hook(self, hook: str) -> None:
        """Contract Q6."""
        plugin = Noting("broken", [], **{hook: KeyError("lost")})
        with pytest.raises(PluginError, match=f"'broken'.*{hook}_callback") as error:
            await Conversation(clerk(call("ping"), "done"), plugins=[plugin]).say("go")
        assert isinstance(error.value, RuntimeError)
        assert isinstance(error.value.__cause__, KeyError)

    async def test_they_serve_agents_that_have_no_model(self) -> None:
        """Contract C4."""

        class Echo(BaseAgent):
            async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
                yield Event(author=self.name, content=ctx.user_content)

        noted: list[str] = []
        assert outline(await Conversation(Echo(name="echo"), plugins=[Noting("p", noted)]).say("hi")) == [
            "echo: hi"
        ]
        assert [line.removeprefix("p ") for line in noted] == [
            "on_user_message",
            "before_run",
            "before_agent",
            "on_event",
            "after_agent",
            "after_run",
        ]

"""Contract C1 to C4, Q5, Q6: effects of callbacks and plugins on an invocation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from runtime import types
from runtime.agents import BaseAgent, InvocationContext, LlmAgent
from runtime.errors import ConfigurationError, PluginError
from runtime.events import Event
from runtime.models import LlmRequest, LlmResponse
from runtime.run_config import RunConfig, StreamingMode
from tests.acceptance.runtime.plugins import FullSessionService, RecordingPlugin, Watcher
from tests.fakes import ScriptedModel, call, parts_of, requests_of, say, text_content
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
    return [response.response for response in event.get_function_responses()]


class TestCallbacks:
    async def test_callbacks_are_called_in_the_order_of_the_steps(self) -> None:
        """Contract C1."""
        calls: list[str] = []

        def recording(hook: str) -> Any:
            def note(**kwargs: Any) -> None:
                calls.append(hook)

            return note

        agent = clerk(call("ping"), "done", **{f"{hook}_callback": recording(hook) for hook in HOOKS})
        await Conversation(agent).say("go")
        step = ["before_model", "after_model"]
        assert calls == ["before_agent", *step, "before_tool", "after_tool", *step, "after_agent"]

    async def test_the_first_answer_of_a_list_of_callbacks_wins(self) -> None:
        """Contract C1, Q5."""
        calls: list[str] = []

        def callback(name: str, answer: types.Content | None) -> Any:
            async def note(callback_context: Any) -> types.Content | None:
                calls.append(name)
                return answer

            return note

        callbacks = [callback("a", None), callback("b", text_content("b")), callback("c", text_content("c"))]
        assert outline(await Conversation(clerk(before_agent_callback=callbacks)).say("go")) == ["clerk: b"]
        assert calls == ["a", "b"]

    @pytest.mark.parametrize("hook", ["before_tool_callback", "after_tool_callback"])
    async def test_an_empty_answer_counts(self, hook: str) -> None:
        """Contract Q5: the first result other than None ends a list."""
        callbacks = [lambda **kwargs: None, lambda **kwargs: {}, lambda **kwargs: {"from": "third"}]
        agent = clerk(call("ping"), "done", **{hook: callbacks})
        assert results((await Conversation(agent).say("go"))[1]) == [{}]

    @pytest.mark.parametrize("hook", ["before_agent", "after_agent", "before_model", "after_model"])
    async def test_a_text_is_no_answer_of_agent_and_model_callbacks(self, hook: str) -> None:
        """Contract C2."""
        agent = clerk("done", **{f"{hook}_callback": lambda **kwargs: "text"})
        expected = "Content" if "agent" in hook else "LlmResponse"
        message = f"The {hook}_callback for agent 'clerk' returned a str. Return a {expected}, or None"
        with pytest.raises(ConfigurationError, match=message):
            await Conversation(agent).say("go")

    @pytest.mark.parametrize("hook", ["before_tool", "after_tool"])
    async def test_a_text_is_an_answer_of_tool_callbacks(self, hook: str) -> None:
        """Contract C2."""
        agent = clerk(call("ping"), "done", **{f"{hook}_callback": lambda **kwargs: "text"})
        assert results((await Conversation(agent).say("go"))[1]) == [{"result": "text"}]

    async def test_before_agent_may_answer_instead_of_the_agent(self) -> None:
        """Contract C2."""
        agent = clerk(before_agent_callback=lambda callback_context: text_content("closed"))
        assert outline(await Conversation(agent).say("go")) == ["clerk: closed"]
        assert requests_of(agent) == []

    async def test_after_agent_may_add_an_event(self) -> None:
        """Contract C2."""
        agent = clerk("done", after_agent_callback=lambda callback_context: text_content("bye"))
        assert outline(await Conversation(agent).say("go")) == ["clerk: done", "clerk: bye"]

    async def test_before_model_may_answer_instead_of_the_model(self) -> None:
        """Contract C2."""
        agent = clerk(before_model_callback=lambda callback_context, llm_request: response("cached"))
        assert outline(await Conversation(agent).say("go")) == ["clerk: cached"]
        assert requests_of(agent) == []

    async def test_before_model_may_change_the_request_for_one_call(self) -> None:
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
            return response((parts_of(llm_response.content)[0].text or "").upper())

        conversation = Conversation(clerk("quiet", after_model_callback=shout))
        assert outline(await conversation.say("go")) == ["clerk: QUIET"]
        assert outline((await conversation.session()).events)[-1] == "clerk: QUIET"

    async def test_on_model_error_may_answer_instead_of_the_model(self) -> None:
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

    async def test_before_tool_may_answer_instead_of_the_tool(self) -> None:
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

    async def test_state_changes_of_callbacks_are_committed_with_the_next_event(self) -> None:
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

    async def test_state_changes_and_answer_of_an_agent_callback_are_one_event(self) -> None:
        """Contract C2, C3."""

        def reply(callback_context: Any) -> types.Content:
            callback_context.state["seen"] = True
            return text_content("closed")

        [event] = await Conversation(clerk(before_agent_callback=reply)).say("go")
        assert (event.text(), event.actions.state_delta) == ("closed", {"seen": True})

    async def test_state_changes_during_streaming_are_committed_once_with_the_whole_event(self) -> None:
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
    async def test_hooks_are_called_for_every_step_of_an_invocation(self) -> None:
        """Contract C4."""
        calls: list[str] = []
        await Conversation(clerk(call("ping"), "done"), plugins=[RecordingPlugin("p", calls)]).say("go")
        step = ["before_model", "after_model", "on_event"]
        assert [line.removeprefix("p ") for line in calls] == [
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

    async def test_hooks_are_called_in_order_before_the_agents_own_callbacks(self) -> None:
        """Contract C4."""
        calls: list[str] = []
        agent = clerk("done", before_model_callback=lambda **kwargs: calls.append("agent before_model"))
        await Conversation(agent, plugins=[RecordingPlugin("b", calls), RecordingPlugin("a", calls)]).say(
            "go"
        )
        order = [line for line in calls if "before_model" in line]
        assert order == ["b before_model", "a before_model", "agent before_model"]

    @pytest.mark.parametrize(
        ("hook", "answer", "expected"),
        [
            ("before_run", text_content("closed"), ["clerk: closed"]),
            ("before_agent", text_content("closed"), ["clerk: closed"]),
            ("before_model", response("closed"), ["clerk: closed"]),
            ("before_tool", {"from": "plugin"}, ["clerk: ping()", "clerk: =ping", "clerk: done"]),
        ],
    )
    async def test_an_answer_of_a_plugin_skips_later_plugins_and_callbacks(
        self, hook: str, answer: Any, expected: list[str]
    ) -> None:
        """Contract Q6."""
        calls: list[str] = []
        own = (
            {}
            if hook == "before_run"
            else {f"{hook}_callback": lambda **kwargs: calls.append(f"agent {hook}")}
        )
        agent = clerk(call("ping"), "done", **own)
        plugins = [RecordingPlugin("first", calls, **{hook: answer}), RecordingPlugin("second", calls)]
        assert outline(await Conversation(agent, plugins=plugins).say("go")) == expected
        assert [line for line in calls if line.endswith(f" {hook}")] == [f"first {hook}"]

    async def test_errors_of_models_and_tools_are_offered_to_plugins(self) -> None:
        """Contract C4, T4."""
        calls: list[str] = []
        plugin = RecordingPlugin(
            "p", calls, on_model_error=response("later"), on_tool_error={"error": "caught"}
        )
        conversation = Conversation(clerk(call("fails"), ConnectionError("away")), plugins=[plugin])
        events = await conversation.say("go")
        assert outline(events) == ["clerk: fails()", "clerk: =fails", "clerk: later"]
        assert results(events[1]) == [{"error": "caught"}]

    async def test_a_changed_message_is_stored_and_sent(self) -> None:
        """Contract Q6."""
        agent = clerk("done")
        plugin = RecordingPlugin("p", [], on_user_message=say("changed"))
        conversation = Conversation(agent, plugins=[plugin])
        await conversation.say("original")
        assert outline((await conversation.session()).events)[0] == "user: changed"
        assert requests_of(agent)[0].contents == [say("changed")]

    async def test_a_changed_event_is_stored_yielded_and_shown_to_the_model(self) -> None:
        """Contract Q6."""
        other = Event(author="clerk", content=text_content("for your eyes"))
        agent = clerk("the secret", "bye")
        conversation = Conversation(agent, plugins=[RecordingPlugin("p", [], on_event=other)])
        [shown] = await conversation.say("go")
        assert outline([shown]) == ["clerk: for your eyes"]
        stored = (await conversation.session()).events[-1]
        assert (stored.id, outline([stored])) == (shown.id, ["clerk: for your eyes"])
        await conversation.say("and?")
        assert requests_of(agent)[1].contents[1] == text_content("for your eyes")

    @pytest.mark.parametrize(
        "hook", ["on_user_message", "before_run", "before_agent", "before_model", "before_tool", "on_event"]
    )
    async def test_an_error_in_a_hook_ends_the_invocation_and_names_the_plugin_and_the_hook(
        self, hook: str
    ) -> None:
        """Contract Q6."""
        plugin = RecordingPlugin("broken", [], **{hook: KeyError("lost")})
        with pytest.raises(PluginError, match=f"'broken'.*{hook}_callback") as error:
            await Conversation(clerk(call("ping"), "done"), plugins=[plugin]).say("go")
        assert isinstance(error.value, RuntimeError)
        assert isinstance(error.value.__cause__, KeyError)

    @pytest.mark.parametrize("hook", ["on_user_message", "before_run", "on_event", "after_run"])
    async def test_plugins_are_told_once_of_an_error_in_a_hook_of_the_run(self, hook: str) -> None:
        """Contract C4."""
        watcher = Watcher("watcher")
        plugin = RecordingPlugin("broken", [], **{hook: KeyError("lost")})
        with pytest.raises(PluginError) as raised:
            await Conversation(clerk("done"), plugins=[plugin, watcher]).say("go")
        assert watcher.errors == [raised.value]

    async def test_plugins_are_told_once_of_an_event_that_cannot_be_stored(self) -> None:
        """Contract C4."""
        watcher = Watcher("watcher")
        conversation = Conversation(clerk("done"), plugins=[watcher])
        conversation.runner.session_service = FullSessionService()
        with pytest.raises(OSError, match="full"):
            await conversation.say("go")
        assert [str(error) for error in watcher.errors] == ["full"]

    async def test_hooks_are_called_for_agents_without_a_model(self) -> None:
        """Contract C4."""

        class Echo(BaseAgent):
            async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
                yield Event(author=self.name, content=ctx.user_content)

        calls: list[str] = []
        assert outline(
            await Conversation(Echo(name="echo"), plugins=[RecordingPlugin("p", calls)]).say("hi")
        ) == ["echo: hi"]
        assert [line.removeprefix("p ") for line in calls] == [
            "on_user_message",
            "before_run",
            "before_agent",
            "on_event",
            "after_agent",
            "after_run",
        ]

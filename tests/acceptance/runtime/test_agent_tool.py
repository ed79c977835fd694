"""Contract T6, Q12: an agent that another agent's model calls as a tool, in whole sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent, SequentialAgent
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation
from runtime.auth.auth_tool import AuthConfig
from runtime.errors import LlmCallsLimitExceededError, ModelError
from runtime.events import Event
from runtime.events.quotation import is_quotation
from runtime.models import LlmRequest, LlmResponse
from runtime.plugins import BasePlugin
from runtime.run_config import RunConfig, StreamingMode
from runtime.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext
from tests.fakes import ScriptedModel, call, parts_of, requests_of, response_of, say, text_content
from tests.unit.runtime.conversation import Conversation, outline
from tests.unit.runtime.weather import Place, Weather


class UnstreamedModel(ScriptedModel):
    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        assert not stream
        return super().generate_content_async(llm_request, stream)


def expert(*turns: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(**{"name": "expert", "model": ScriptedModel(turns=list(turns)), **fields})


def asker(*turns: Any, tools: list[Any], **fields: Any) -> LlmAgent:
    return LlmAgent(name="asker", model=ScriptedModel(turns=list(turns)), tools=tools, **fields)


def ask(text: str = "?") -> types.Part:
    return call("expert", request=text)


def results(events: list[Event]) -> list[Any]:
    return [response.response for event in events for response in event.get_function_responses()]


async def call_once(tool: AgentTool) -> tuple[list[Event], Conversation]:
    """Run one invocation in which the tool is called once."""
    conversation = Conversation(asker(ask(), "end", tools=[tool]))
    return await conversation.say("go"), conversation


KEY = AuthConfig(auth_scheme=APIKey(in_=ApiKeyLocation.HEADER, name="X-Key"))


def look() -> str:
    """Look out of the window."""
    return "sun"


def paying(paid: list[int]) -> Callable[[int], str]:
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    return pay


def text_of(request: LlmRequest) -> str:
    return parts_of(request.contents[-1])[0].text or ""


def first_instruction_line(request: LlmRequest) -> str:
    return str(request.config.system_instruction).splitlines()[0]


class TestRequestAndResult:
    async def test_the_caller_gets_the_last_text_and_its_session_holds_only_the_call(self) -> None:
        inner = expert(call("look"), "Sunny.", tools=[FunctionTool(look)])
        agent = asker(ask("How is it?"), "It is sunny.", tools=[AgentTool(inner)])
        conversation = Conversation(agent)
        events = await conversation.say("go")
        assert outline(events) == ["asker: expert()", "asker: =expert", "asker: It is sunny."]
        assert results(events) == [{"result": "Sunny."}]
        assert requests_of(inner)[0].contents == [say("How is it?")]
        assert outline((await conversation.session()).events) == ["user: go", *outline(events)]

    async def test_every_call_starts_a_new_session_even_parallel_calls(self) -> None:
        inner = LlmAgent(name="expert", model=ScriptedModel(rule=lambda request: text_of(request)))
        agent = asker([ask("one"), ask("two")], ask("three"), "end", tools=[AgentTool(inner)])
        events = await Conversation(agent).say("go")
        assert results(events) == [{"result": "one"}, {"result": "two"}, {"result": "three"}]
        assert all(len(request.contents) == 1 for request in requests_of(inner))

    async def test_input_and_output_follow_the_schemas(self) -> None:
        inner = expert('{"degrees": 21, "extra": 1}', input_schema=Place, output_schema=Weather)
        agent = asker(
            call("expert", country="no"), call("expert", city="Oslo"), "end", tools=[AgentTool(inner)]
        )
        wrong, right = results(await Conversation(agent).say("go"))
        assert "'city'" in wrong["error"]
        assert right == {"degrees": 21.0}
        assert text_of(requests_of(inner)[0]) == '{"city":"Oslo"}'

    async def test_with_skip_summarization_the_answer_ends_the_turn(self) -> None:
        agent = asker(ask(), "never", tools=[AgentTool(expert("Sunny."), skip_summarization=True)])
        events = await Conversation(agent).say("go")
        assert outline(events) == ["asker: expert()", "asker: =expert Sunny."]
        assert events[-1].is_final_response()

    @pytest.mark.parametrize(("turn", "shown"), [('{"degrees": 21}', '{"degrees": 21.0}'), ("", "")])
    async def test_with_skip_summarization_an_object_is_shown_as_json_and_nothing_as_nothing(
        self, turn: str, shown: str
    ) -> None:
        inner = expert(turn, output_schema=Weather) if turn else expert(turn)
        agent = asker(ask(), "never", tools=[AgentTool(inner, skip_summarization=True)])
        events = await Conversation(agent).say("go")
        assert [event.text() for event in events] == ["", shown]

    async def test_a_tree_of_agents_can_be_a_tool(self) -> None:
        """Contract A5, A6: a sequence with a transfer within it."""
        helper = LlmAgent(name="helper", model=ScriptedModel(turns=["helped"]))
        first = LlmAgent(
            name="first",
            model=ScriptedModel(turns=[call("transfer_to_agent", agent_name="helper")]),
            sub_agents=[helper],
        )
        last = LlmAgent(name="last", model=ScriptedModel(turns=["summed up"]))
        events, _ = await call_once(AgentTool(SequentialAgent(name="expert", sub_agents=[first, last])))
        assert results(events) == [{"result": "summed up"}]
        assert any(is_quotation(content) for content in requests_of(last)[0].contents)


class TestStateAndArtifacts:
    async def test_the_agent_reads_the_callers_state_and_the_next_call_reads_its_changes(self) -> None:
        def count(tool_context: ToolContext) -> int:
            """Count."""
            for key in ("calls", "user:calls", "app:calls"):
                tool_context.state[key] = tool_context.state.get(key, 0) + 1
            return 0

        inner = expert(
            call("count"),
            "a",
            call("count"),
            "b",
            instruction="For {user:name}: {calls} {user:calls?} {app:calls?}.",
            tools=[count],
        )
        agent = asker(
            ask(), ask(), "end", tools=[AgentTool(inner)], instruction="{calls} {user:calls?} {app:calls?}"
        )
        conversation = Conversation(agent, state={"user:name": "Ada", "calls": 0})
        events = await conversation.say("go")
        lines = [first_instruction_line(request) for request in requests_of(inner)]
        assert lines[0] == "For Ada: 0  ." and lines[2] == "For Ada: 1 1 1."
        assert first_instruction_line(requests_of(agent)[-1]) == "2 2 2"
        ones = dict.fromkeys(("calls", "user:calls", "app:calls"), 1)
        assert [event.actions.state_delta for event in events if event.actions.state_delta] == [
            ones,
            dict.fromkeys(ones, 2),
        ]
        assert (await conversation.session()).state == {"user:name": "Ada", **dict.fromkeys(ones, 2)}

    async def test_output_keys_are_written_to_the_callers_state(self) -> None:
        first = LlmAgent(name="first", model=ScriptedModel(turns=["one"]), output_key="o1")
        second = LlmAgent(
            name="second", model=ScriptedModel(turns=["two"]), output_key="o2", instruction="After {o1}."
        )
        tool = AgentTool(SequentialAgent(name="expert", sub_agents=[first, second]))
        _, conversation = await call_once(tool)
        assert first_instruction_line(requests_of(second)[0]) == "After one."
        assert (await conversation.session()).state == {"o1": "one", "o2": "two"}

    async def test_temp_state_is_not_passed_between_caller_and_agent(self) -> None:
        """Contract S4: `temp:` values need not be JSON."""

        def connect(tool_context: ToolContext) -> str:
            """Connect."""
            tool_context.state["temp:client"] = object()
            return "ok"

        def leave(tool_context: ToolContext) -> list[str]:
            """Leave something."""
            seen = list(tool_context.state.to_dict())
            tool_context.state["temp:left"] = 1
            return seen

        def look_round(tool_context: ToolContext) -> list[str]:
            """Look round."""
            return list(tool_context.state.to_dict())

        inner = expert(call("leave"), "done", tools=[leave])
        agent = asker(
            call("connect"), ask(), call("look_round"), "end", tools=[connect, AgentTool(inner), look_round]
        )
        conversation = Conversation(agent)
        events = await conversation.say("go")
        assert results(events) == [{"result": "ok"}, {"result": "done"}, {"result": ["temp:client"]}]
        [part] = parts_of(requests_of(inner)[1].contents[-1])
        assert response_of(part) == {"result": []}
        assert (await conversation.session()).state == {}

    async def test_the_agent_works_with_the_callers_artifacts(self) -> None:
        """Contract F2: the versions are recorded with the function response."""

        async def save(text: str, tool_context: ToolContext) -> int:
            """Save."""
            return await tool_context.save_artifact("notes.txt", types.Part(text=text))

        async def load(tool_context: ToolContext) -> str | None:
            """Load."""
            part = await tool_context.load_artifact("notes.txt")
            return part.text if part else None

        inner = expert(call("load"), call("save", text="more"), "saved", tools=[save, load])
        agent = asker(
            call("save", text="first"), ask(), call("load"), "end", tools=[save, load, AgentTool(inner)]
        )
        events = await Conversation(agent).say("go")
        [part] = parts_of(requests_of(inner)[1].contents[-1])
        assert response_of(part) == {"result": "first"}
        assert results(events) == [{"result": 0}, {"result": "saved"}, {"result": "more"}]
        deltas = [event.actions.artifact_delta for event in events if event.actions.artifact_delta]
        assert deltas == [{"notes.txt": 0}, {"notes.txt": 1}]


class TestCallingInvocation:
    async def test_the_callers_plugins_are_called_for_the_agent(self) -> None:
        """Contract C4."""
        called: list[str] = []

        class Listener(BasePlugin):
            async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
                called.append(agent.name)

            async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
                called.append(user_message.parts[0].text)

        agent = asker(ask("How is it?"), "end", tools=[AgentTool(expert("Sunny."))])
        await Conversation(agent, plugins=[Listener("listener")]).say("go")
        assert called == ["go", "asker", "How is it?", "expert"]

    async def test_model_calls_of_the_agent_count_for_the_invocation(self) -> None:
        """Contract L10: even when two calls run in parallel."""
        inner = LlmAgent(name="expert", model=ScriptedModel(rule=lambda request: "answer"))
        circle = LlmAgent(name="circle", model=ScriptedModel(rule=lambda request: call("look")), tools=[look])
        turns = [[ask("1"), ask("2")], call("circle", request="?"), "never"]
        agent = asker(*turns, tools=[AgentTool(inner), AgentTool(circle)])
        with pytest.raises(LlmCallsLimitExceededError, match="7"):
            await Conversation(agent).say("go", RunConfig(max_llm_calls=7))
        assert [len(requests_of(called)) for called in (agent, inner, circle)] == [2, 2, 3]

    async def test_the_settings_of_the_invocation_are_the_agents_settings(self) -> None:
        """Contract L10: all but streaming, as the agent's text goes to the caller as a whole."""
        inner = expert(model=UnstreamedModel(turns=["Sunny."]))
        config = RunConfig(
            streaming_mode=StreamingMode.SSE,
            labels={"team": "a"},
            http_options=types.HttpOptions(timeout=1000),
            model_input_context=[say("It is May.")],
        )
        await Conversation(asker(ask(), "end", tools=[AgentTool(inner)])).say("go", config)
        [request] = requests_of(inner)
        assert request.contents[0] == say("It is May.")
        assert request.config.labels is not None and request.config.labels["team"] == "a"
        assert request.config.http_options is not None and request.config.http_options.timeout == 1000

    async def test_exceptions_end_the_invocation_and_model_errors_go_to_the_caller(self) -> None:
        """Contract L5, E7."""

        def fails() -> None:
            """Fail."""
            raise LookupError("lost")

        events, _ = await call_once(AgentTool(expert(ModelError("SAFETY", "It was blocked."))))
        assert results(events) == [{"error": "expert failed: It was blocked."}]
        with pytest.raises(LookupError, match="lost"):
            await call_once(AgentTool(expert(call("fails"), tools=[fails])))

    async def test_the_agent_is_closed_when_the_invocation_is_cancelled(self) -> None:
        """Contract L7."""
        closed: list[str] = []
        started = asyncio.Event()

        class Endless(ScriptedModel):
            async def generate_content_async(
                self, llm_request: LlmRequest, stream: bool = False
            ) -> AsyncGenerator[LlmResponse, None]:
                started.set()
                try:
                    await asyncio.Event().wait()
                    yield LlmResponse(content=text_content("never"))
                finally:
                    closed.append("model")

        agent = asker(ask(), tools=[AgentTool(LlmAgent(name="expert", model=Endless()))])
        task = asyncio.create_task(Conversation(agent).say("go"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == ["model"]


class TestUnansweredCalls:
    """The agent's session ends with the call, so its pending calls cannot be answered: the caller gets an error."""

    async def test_a_confirmation_request_is_reported_and_the_call_is_not_executed(self) -> None:
        """Contract T7: state changes made before it are kept."""
        paid: list[int] = []

        def note(tool_context: ToolContext) -> None:
            """Note."""
            tool_context.state["noted"] = True

        inner = expert(
            call("note"),
            call("pay", euros=5),
            tools=[note, FunctionTool(paying(paid), require_confirmation=True)],
        )
        events, conversation = await call_once(AgentTool(inner))
        [answer] = results(events)
        assert "expert did not finish" in answer["error"]
        assert "confirmation of 'pay'" in answer["error"] and "sub-agent" in answer["error"]
        assert outline(events)[-1] == "asker: end"
        assert paid == []
        assert (await conversation.session()).state == {"noted": True}

    async def test_a_confirmation_request_of_one_agent_in_a_sequence_is_reported(self) -> None:
        """Contract A5: even when a later agent answers."""
        first = expert(call("pay", euros=5), tools=[FunctionTool(paying([]), require_confirmation=True)])
        last = LlmAgent(name="last", model=ScriptedModel(turns=["all done"]))
        first.name = "first"
        events, _ = await call_once(AgentTool(SequentialAgent(name="expert", sub_agents=[first, last])))
        assert "confirmation of 'pay'" in results(events)[0]["error"]

    async def test_a_credential_request_is_reported(self) -> None:
        """Contract T8."""

        def log_in(tool_context: ToolContext) -> None:
            """Log in."""
            tool_context.request_credential(KEY)

        events, _ = await call_once(AgentTool(expert(call("log_in"), tools=[log_in])))
        assert "waits for a credential" in results(events)[0]["error"]

    async def test_a_pending_long_running_call_is_reported(self) -> None:
        """Contract T5: beside a call that was answered."""

        def start() -> None:
            """Start."""

        inner = expert([call("start"), call("look")], tools=[LongRunningFunctionTool(start), look])
        events, _ = await call_once(AgentTool(inner))
        assert "the answer to its call of 'start'" in results(events)[0]["error"]

    async def test_a_long_running_call_with_a_first_result_is_not_reported(self) -> None:
        """Contract Q10: the agent's model continues with the first result."""

        def start() -> dict[str, str]:
            """Start."""
            return {"ticket": "T1"}

        inner = expert(call("start"), "Ask for T1.", tools=[LongRunningFunctionTool(start)])
        events, _ = await call_once(AgentTool(inner))
        assert results(events) == [{"result": "Ask for T1."}]


async def test_the_event_with_the_answer_has_the_usage_of_the_agents_model_calls() -> None:
    def using(tokens: int, part: types.Part) -> LlmResponse:
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=tokens, candidates_token_count=1, total_token_count=tokens + 1
        )
        content = types.ModelContent(parts=[part])
        return LlmResponse(content=content, usage_metadata=usage, model_version="expert-2")

    child = expert(using(10, call("look")), using(20, types.Part(text="Rain.")), tools=[look])
    conversation = Conversation(asker([ask(), call("look")], "end", tools=[AgentTool(child), look]))
    events = await conversation.say("go")
    [answers] = [event for event in events if event.get_function_responses()]
    assert answers.usage_metadata and answers.model_version == "expert-2"
    assert answers.usage_metadata.model_dump(exclude_none=True) == {
        "prompt_token_count": 30,
        "candidates_token_count": 2,
        "total_token_count": 32,
    }

"""Verdicts on eval sets: what passes and what fails, with the recorded answers of a judge.

A judge is asked in other words by each package, so its recorded answer has the verdict in both forms.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

from pydantic import Field

from runtime.agents import LlmAgent
from runtime.evaluation.agent_evaluator import AgentEvaluator
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.models.registry import LLMRegistry
from tests.side_by_side.program import program
from tests.side_by_side.world import World, call, content_of

MODULE = "agent_under_evaluation"
LAMP = call("price", item="lamp")
DESK = call("price", item="desk")
ANSWER = "The lamp costs 20 EUR. It is red."


class RecordedJudge(BaseLlm):
    """Gives the recorded answers of the name of its model, one after the other, and again from the first."""

    answers: ClassVar[dict[str, list[str]]] = {}
    asked: ClassVar[dict[str, int]] = {}

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"recorded-judge-.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answers = self.answers[self.model]
        number = self.asked.get(self.model, 0)
        self.asked[self.model] = number + 1
        yield LlmResponse(content=content_of("model", answers[number % len(answers)]))


LLMRegistry.register(RecordedJudge)


class Clerk(BaseLlm):
    """Answers with its turns."""

    turns: list[Any] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=content_of("model", self.turns.pop(0)))


def price(item: str) -> dict[str, Any]:
    """Price of an item."""
    return {"price": 20, "currency": "EUR"}


def judge(*answers: str) -> dict[str, Any]:
    """Return options with a judge that gives these answers."""
    name = f"recorded-judge-{len(RecordedJudge.answers)}"
    RecordedJudge.answers[name] = list(answers)
    return {"judge_model": name, "num_samples": len(answers)}


def valid(word: str) -> str:
    return json.dumps(
        {"is_the_agent_response_valid": word, "verdict": word, "reasoning": "r", "rationale": "r"}
    )


def rubrics(*keys: str) -> list[dict[str, Any]]:
    return [{"rubric_id": key, "rubric_content": {"text_property": f"Property {key}."}} for key in keys]


def on_rubrics(**words: str) -> str:
    lines = [
        f"ID: {key}\nProperty: Property {key}.\nRationale: r\nVerdict: {word}" for key, word in words.items()
    ]
    verdicts = [{"rubric_id": key, "rationale": "r", "verdict": word} for key, word in words.items()]
    return "\n\n".join([*lines, json.dumps({"verdicts": verdicts})])


def on_sentences(*labels: str) -> str:
    sentences = [f"Sentence {number}." for number in range(len(labels))]
    split = [f"<sentence>{sentence}</sentence>" for sentence in sentences]
    checked = [
        f"sentence: {sentence}\nlabel: {label}\nrationale: r\nsupporting_excerpt: null\ncontradicting_excerpt: null"
        for sentence, label in zip(sentences, labels, strict=True)
    ]
    verdicts = [
        {"sentence": sentence, "label": label, "rationale": "r"}
        for sentence, label in zip(sentences, labels, strict=True)
    ]
    return "\n".join([*split, *checked, json.dumps({"sentences": verdicts})])


def turn(message: str = "How much?", answer: str | None = ANSWER, *items: str) -> dict[str, Any]:
    calls = [{"name": "price", "args": {"item": item}} for item in items]
    expected: dict[str, Any] = {
        "user_content": {"role": "user", "parts": [{"text": message}]},
        "intermediate_data": {"tool_uses": calls},
    }
    if answer is not None:
        expected["final_response"] = {"role": "model", "parts": [{"text": answer}]}
    return expected


def install(*turns: Any) -> None:
    """Make the module with an agent whose model gives these turns."""
    install_agent(LlmAgent(name="clerk", model=Clerk(model="clerk", turns=list(turns)), tools=[price]))


def install_agent(agent: LlmAgent) -> None:
    module = ModuleType(MODULE)
    vars(module)["agent"] = SimpleNamespace(root_agent=agent)
    sys.modules[MODULE] = module


async def note_verdict(
    world: World, criteria: dict[str, Any], turns: list[Any], *expected: dict[str, Any]
) -> None:
    install(*turns)
    eval_set = EvalSet.model_validate(
        {"eval_set_id": "shop", "eval_cases": [{"eval_id": "lamp", "conversation": list(expected)}]}
    )
    config = EvalConfig.model_validate({"criteria": criteria})
    try:
        await AgentEvaluator.evaluate_eval_set(
            agent_module=MODULE,
            eval_set=eval_set,
            eval_config=config,
            num_runs=1,
            print_detailed_results=False,
        )
    except AssertionError:
        world.note(passed=False)
    else:
        world.note(passed=True)


@program
async def verdicts_on_calls(world: World) -> None:
    for match in ("EXACT", "IN_ORDER", "ANY_ORDER"):
        criteria = {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": match}}
        for calls in ([LAMP], [LAMP, DESK], [DESK, LAMP], [DESK], []):
            await note_verdict(world, criteria, [*calls, ANSWER], turn("How much?", ANSWER, "lamp", "desk"))
            await note_verdict(world, criteria, [*calls, ANSWER], turn("How much?", ANSWER, "lamp"))


@program
async def verdicts_on_words(world: World) -> None:
    for answer in (ANSWER, "A red lamp costs 20 EUR", "20 EUR", "I do not know.", "Lamps cost twenty euros."):
        for threshold in (0.2, 0.5, 0.8, 1.0):
            await note_verdict(world, {"response_match_score": threshold}, [answer], turn())


@program
async def verdicts_on_final_responses(world: World) -> None:
    for words in (
        ["valid"],
        ["invalid"],
        ["valid", "valid", "invalid"],
        ["valid", "invalid"],
        ["valid", "?", "valid"],
    ):
        options = judge(*map(valid, words))
        criteria = {"final_response_match_v2": {"threshold": 0.6, "judge_model_options": options}}
        await note_verdict(world, criteria, [LAMP, ANSWER], turn())


@program
async def verdicts_on_rubrics(world: World) -> None:
    names = (
        "rubric_based_final_response_quality_v1",
        "rubric_based_tool_use_quality_v1",
        "rubric_based_multi_turn_trajectory_quality_v1",
    )
    samples = (
        [{"a": "yes", "b": "yes"}],
        [{"a": "yes", "b": "no"}],
        [{"a": "no", "b": "no"}],
        [{"a": "yes", "b": "no"}, {"a": "yes", "b": "yes"}, {"a": "no", "b": "yes"}],
        [{"a": "yes", "b": "no"}, {"a": "no", "b": "yes"}],
    )
    for name in names:
        for words in samples:
            for threshold in (0.5, 0.8):
                options = judge(*(on_rubrics(**found) for found in words))
                criterion = {
                    "threshold": threshold,
                    "judge_model_options": options,
                    "rubrics": rubrics("a", "b"),
                }
                expected = [turn(), turn("And now?")]
                await note_verdict(world, {name: criterion}, [LAMP, ANSWER, ANSWER], *expected)


@program
async def verdicts_on_sentences(world: World) -> None:
    for labels in (
        ["supported", "not_applicable"],
        ["supported", "unsupported"],
        ["contradictory", "disputed"],
        ["supported", "supported", "unsupported"],
    ):
        for threshold in (0.5, 0.7, 1.0):
            options = {**judge(on_sentences(*labels)), "num_samples": 1}
            criteria = {"hallucinations_v1": {"threshold": threshold, "judge_model_options": options}}
            await note_verdict(world, criteria, [LAMP, ANSWER], turn())


OLD = [
    {
        "query": "How much?",
        "expected_tool_use": [{"tool_name": "price", "tool_input": {"item": "lamp"}}],
        "expected_intermediate_agent_responses": [],
        "reference": ANSWER,
    }
]


@program
async def verdicts_on_files(world: World) -> None:
    files: dict[str, Any] = {
        "turns.test.json": OLD,
        "set.test.json": {
            "eval_set_id": "s",
            "eval_cases": [{"eval_id": "a", "conversation": [turn("Hi", ANSWER, "lamp")]}],
        },
    }
    for name, content in files.items():
        for turns in ([LAMP, ANSWER], [DESK, ANSWER], [LAMP, "No."]):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, name).write_text(json.dumps(content))
                install(*turns)
                try:
                    await AgentEvaluator.evaluate(MODULE, folder, num_runs=1, print_detailed_results=False)
                except AssertionError:
                    world.note(file=name, passed=False)
                else:
                    world.note(file=name, passed=True)


EMPTY_FIELDS = dict.fromkeys(("video_metadata", "thought", "inline_data", "file_data", "function_response"))
"""Fields that the eval sets of public samples have without a value."""
TRANSFER = {"id": None, "name": "transfer_to_agent", "args": {"agent_name": "guide"}}


def sample_turn(message: str, answer: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """Return a message as the eval sets of public samples write it."""
    return {
        "invocation_id": f"e-{message}",
        "user_content": {"parts": [{**EMPTY_FIELDS, "text": message}], "role": "user"},
        "final_response": {"parts": [{**EMPTY_FIELDS, "text": answer}], "role": "model"},
        "intermediate_data": {"tool_uses": list(calls), "intermediate_responses": []},
        "creation_timestamp": 1747946425.614513,
    }


@program
async def verdicts_on_a_set_with_two_agents_and_a_state(world: World) -> None:
    """A set of the shape of a travel agency's sample, with its criteria in a file beside it."""
    lamp = {"id": None, "name": "price", "args": {"item": "lamp"}}
    eval_set = {
        "eval_set_id": "s",
        "name": "s",
        "description": None,
        "eval_cases": [
            {
                "eval_id": "inspire",
                "conversation": [
                    sample_turn("Guide me", "Look at the lamp.", TRANSFER, lamp),
                    sample_turn("And now?", "Buy the lamp now."),
                ],
                "session_input": {
                    "app_name": "agency",
                    "user_id": "",
                    "state": {"town": "Rome", "likes": []},
                },
                "creation_timestamp": 1747946425.61458,
            }
        ],
        "creation_timestamp": 1747946425.614588,
    }
    transfer = call("transfer_to_agent", agent_name="guide")
    for criteria in (
        {"tool_trajectory_avg_score": 1.0},
        {"tool_trajectory_avg_score": 0.5},
        {"response_match_score": 0.6},
        {"tool_trajectory_avg_score": 0.1, "response_match_score": 0.2},
    ):
        for turns in (
            [transfer, LAMP, "Look at the lamp.", "Buy the lamp now."],
            [transfer, DESK, "Look at the desk.", "Buy the lamp now."],
            [transfer, "I cannot help.", "I cannot help."],
        ):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "inspire.test.json").write_text(json.dumps(eval_set))
                Path(folder, "test_config.json").write_text(json.dumps({"criteria": criteria}))
                model = Clerk(model="clerk", turns=turns)
                guide = LlmAgent(name="guide", model=model, tools=[price], instruction="You know {town}.")
                install_agent(LlmAgent(name="desk", model=model, sub_agents=[guide]))
                evaluated = AgentEvaluator.evaluate(MODULE, folder, num_runs=1, print_detailed_results=False)
                await note_passed(world, evaluated)


@program
async def verdicts_on_rubrics_of_messages(world: World) -> None:
    """A set of the shape of a sample without answers, whose messages have rubrics of their own."""
    name = "rubric_based_final_response_quality_v1"
    for kind in (None, "FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY"):
        own = [{**rubric, "type": kind} if kind else rubric for rubric in rubrics("b")]
        message = {
            "user_content": {"parts": [{"text": "How much?"}]},
            "intermediate_data": {"tool_uses": [], "tool_responses": []},
            "rubrics": own,
        }
        begin = {"app_name": "app", "user_id": "eval", "state": {"halted": "price failed"}}
        case = {"eval_id": "lamp", "conversation": [message], "session_input": begin}
        for of_criterion in ([], rubrics("a")):
            for words in ({"a": "yes", "b": "yes"}, {"a": "yes", "b": "no"}, {"a": "no", "b": "yes"}):
                known = {rubric["rubric_id"] for rubric in [*of_criterion, *own]}
                options = judge(on_rubrics(**{key: word for key, word in words.items() if key in known}))
                criterion = {"threshold": 0.8, "judge_model_options": options, "rubrics": of_criterion}
                install(ANSWER)
                evaluated = AgentEvaluator.evaluate_eval_set(
                    agent_module=MODULE,
                    eval_set=EvalSet.model_validate({"eval_set_id": "halts", "eval_cases": [case]}),
                    eval_config=EvalConfig.model_validate({"criteria": {name: criterion}}),
                    num_runs=1,
                    print_detailed_results=False,
                )
                await note_passed(world, evaluated)


async def note_passed(world: World, evaluated: Awaitable[None]) -> None:
    """Note if an evaluation passes. One without a verdict does not."""
    try:
        await evaluated
    except Exception:  # noqa: BLE001
        world.note(passed=False)
    else:
        world.note(passed=True)

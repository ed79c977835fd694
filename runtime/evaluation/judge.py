"""Judge: a model that is asked several times for a verdict in JSON.

A single answer of a model is a weak judgement, so a metric takes the majority of several samples. Samples without a
valid verdict are dropped; the evaluation fails only if all samples are invalid.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from runtime import types
from runtime.errors import EvaluationError, ModelError
from runtime.evaluation.eval_metrics import JudgeModelOptions
from runtime.evaluation.texts import content_text
from runtime.models.llm_request import LlmRequest
from runtime.models.rate_limit import ask_for_whole
from runtime.models.registry import LLMRegistry

V = TypeVar("V", bound=BaseModel)


class Verdict(Protocol):
    """A word, and the reason for it."""

    @property
    def verdict(self) -> str: ...

    @property
    def rationale(self) -> str: ...


class AskedModel:
    """Model that answers questions about material, each without the ones before.

    Args:
        role: subject of a sentence about an error, such as "The judge model".

    Raises:
        ConfigurationError: there is no such model.
    """

    def __init__(self, role: str, name: str, config: types.GenerateContentConfig | None) -> None:
        self._name = name
        self._config = config or types.GenerateContentConfig()
        self._model = LLMRegistry.new_llm(name)
        self.described = f"{role} {name!r}"

    async def answer(self, instruction: str, material: dict[str, Any]) -> str:
        """Return the answer to an instruction about the material.

        Raises:
            EvaluationError: the model reports an error.
            Exception: any error of the model.
        """
        # JSON strings, so no text of the material looks like an instruction.
        text = f"{instruction}\n\n{json.dumps(material, ensure_ascii=True, indent=1)}"
        # The request owns its config; that of the criteria is shared by all requests.
        config = self._config.model_copy(deep=True)
        request = LlmRequest(model=self._name, contents=[types.UserContent(text)], config=config)
        try:
            response = await ask_for_whole(self._model, request)
        except ModelError as error:
            raise EvaluationError(f"{self.described} could not answer: {error.code}.") from error
        return content_text(response.content)


class Judge:
    """Send requests to the judge model of a criterion.

    Raises:
        ConfigurationError: there is no such model.
    """

    def __init__(self, options: JudgeModelOptions) -> None:
        self._options = options
        self._model = AskedModel("The judge model", options.judge_model, options.judge_model_config)

    async def verdicts(self, instruction: str, material: dict[str, Any], verdict_type: type[V]) -> list[V]:
        """Return the valid verdicts of all samples.

        Args:
            instruction: task of the judge, with its rules.
            material: texts to judge, sent as JSON.
            verdict_type: fields of a verdict.

        Raises:
            EvaluationError: no sample has a valid verdict.
            Exception: any error of the model.
        """
        limit = asyncio.Semaphore(self._options.parallelism_limit)

        async def sample() -> V | None:
            async with limit:
                return _verdict_in(await self._model.answer(instruction, material), verdict_type)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(sample()) for _ in range(self._options.num_samples)]
        except ExceptionGroup as failures:
            first = failures.exceptions[0]
            # Raise the exception itself: a group would hide the provider's message.
            raise first from first.__cause__ or first.__context__
        found: list[V] = []
        for task in tasks:
            verdict = task.result()
            if verdict is not None:
                found.append(verdict)
        if not found:
            raise EvaluationError(
                f"{self._model.described} gave no verdict that can be read. Name another model in "
                "judge_model_options.judge_model."
            )
        return found


def majority(verdicts: Sequence[Verdict], word: str) -> tuple[bool, str]:
    """Return whether more than half of the verdicts are `word`, and the reason of a verdict in the majority."""
    reasons: dict[bool, list[str]] = {True: [], False: []}
    for verdict in verdicts:
        reasons[verdict.verdict == word].append(verdict.rationale)
    # A tie counts against the answer.
    is_majority = len(reasons[True]) > len(reasons[False])
    return is_majority, reasons[is_majority][0]


def _verdict_in(answer: str, verdict_type: type[V]) -> V | None:
    """Return the verdict in an answer, which may have text around the JSON; None without a valid verdict."""
    begin = answer.find("{")
    end = answer.rfind("}")
    try:
        return verdict_type.model_validate_json(answer[begin : end + 1])
    except ValidationError:
        return None

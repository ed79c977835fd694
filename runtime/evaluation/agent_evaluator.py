"""AgentEvaluator: eval sets as tests of pytest."""

import asyncio
import json
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

from runtime.agents.base_agent import BaseAgent
from runtime.apps.app import App
from runtime.errors import ConfigurationError, EvaluationError
from runtime.evaluation.base_metric import Metric, MetricResult
from runtime.evaluation.eval_case import EvalCase, Invocation
from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import check_eval_set, config_beside, load_eval_set, load_session
from runtime.evaluation.metrics import metrics_of
from runtime.evaluation.run_case import check_metrics, evaluate_case, run_case
from runtime.evaluation.simulation.llm_backed_user_simulator import LlmBackedUserSimulatorConfig
from runtime.evaluation.texts import calls_of, content_text

NUM_RUNS = 2
_SET_FILES = ("*.test.json", "*.evalset.json")


class AgentEvaluator:
    """Evaluate an agent in a test."""

    @staticmethod
    def find_config_for_test_file(test_file: str | Path) -> EvalConfig:
        """Return the criteria of the `test_config.json` in the folder of a set, or the defaults."""
        return config_beside(Path(test_file).parent)

    @staticmethod
    async def evaluate(
        agent_module: str,
        eval_dataset_file_path_or_dir: str | Path,
        num_runs: int = NUM_RUNS,
        agent_name: str | None = None,
        initial_session_file: str | Path | None = None,
        print_detailed_results: bool = True,
    ) -> None:
        """Evaluate the set in a file, or all `*.test.json` and `*.evalset.json` in a folder and below.

        Args:
            agent_module: importable name of an agent's folder, of its `agent.py`, or of an `agents.py`.
            num_runs: times that each case runs; the mean of the scores counts.
            agent_name: an agent of the tree to evaluate in place of the root.
            initial_session_file: JSON with `state`, `app_name` and `user_id`, for sets in the oldest format.

        Raises:
            AssertionError: a case does not pass; the message names the cases, criteria and scores.
            EvaluationError: a file cannot be read, or a criterion is not valid.
            ConfigurationError: the module has no agent.
        """
        session = None
        if initial_session_file is not None:
            session = await asyncio.to_thread(load_session, Path(initial_session_file))
        files = await asyncio.to_thread(_set_files, Path(eval_dataset_file_path_or_dir))
        failures: list[str] = []
        for file in files:
            eval_set = load_eval_set(file, session)
            config = AgentEvaluator.find_config_for_test_file(file)
            try:
                await AgentEvaluator.evaluate_eval_set(
                    agent_module=agent_module,
                    eval_set=eval_set,
                    eval_config=config,
                    num_runs=num_runs,
                    agent_name=agent_name,
                    print_detailed_results=print_detailed_results,
                )
            except AssertionError as error:
                failures.append(f"{file}:\n{error}")
        if failures:
            raise AssertionError("\n".join(failures))

    @staticmethod
    async def evaluate_eval_set(
        agent_module: str,
        eval_set: EvalSet,
        criteria: dict[str, float] | None = None,
        eval_config: EvalConfig | None = None,
        num_runs: int = NUM_RUNS,
        agent_name: str | None = None,
        print_detailed_results: bool = True,
    ) -> None:
        """Evaluate a set by `eval_config`, or by thresholds in `criteria`. Raise as `evaluate` does."""
        if num_runs < 1:
            raise ConfigurationError(f"num_runs is {num_runs}. Run each case at least once.")
        if criteria:
            eval_config = EvalConfig.model_validate({"criteria": criteria})
        if eval_config is None:
            raise ConfigurationError("Give the eval_config with the criteria.")
        metrics = metrics_of(eval_config)
        check_eval_set(eval_set)
        app = await _app_of(agent_module, agent_name)
        failures: list[str] = []
        for case in eval_set.eval_cases:
            lines = await _failures_of(app, case, metrics, num_runs, eval_config.user_simulator_config)
            failures += lines
            if print_detailed_results:
                print(f"{eval_set.eval_set_id} {case.eval_id}: {'failed' if lines else 'passed'}")
        if failures:
            raise AssertionError("\n".join(failures))


async def _failures_of(
    app: App,
    case: EvalCase,
    metrics: list[Metric],
    num_runs: int,
    simulator_config: LlmBackedUserSimulatorConfig,
) -> list[str]:
    """Return a paragraph for each criterion that the case does not pass."""
    runs: list[list[Invocation]] = []
    results: dict[str, list[MetricResult]] = {metric.name: [] for metric in metrics}
    try:
        check_metrics(metrics, case)
        for _ in range(num_runs):
            actual = await run_case(app, case, simulator_config=simulator_config)
            runs.append(actual)
            for result in await evaluate_case(metrics, case, actual):
                results[result.metric].append(result)
    except EvaluationError as error:
        return [f"{case.eval_id} is broken: {error}"]
    failures = []
    for metric in metrics:
        scores = [result.score for result in results[metric.name] if result.score is not None]
        if not scores:
            failures.append(f"{case.eval_id} has no {metric.name}: nothing to compare with.")
        elif fmean(scores) < metric.threshold:
            failures.append(
                f"{case.eval_id} failed: {metric.name} is {fmean(scores):.2f}, and at least {metric.threshold:.2f} is "
                f"needed.\n{_comparison(case, runs[-1])}"
            )
    return failures


def _comparison(case: EvalCase, actual: list[Invocation]) -> str:
    """Return the actual and the expected outcome of the last run, message by message."""
    lines = []
    for number, invocation in enumerate(actual):
        lines.append(f"  message:  {content_text(invocation.user_content)}")
        if case.conversation:
            lines.append(f"  expected: {_outcome(case.conversation[number])}")
        lines.append(f"  actual:   {_outcome(invocation)}")
    return "\n".join(lines)


def _outcome(invocation: Invocation) -> str:
    calls = [f"{call['tool']}({json.dumps(call['arguments'])})" for call in calls_of(invocation)]
    return " ".join([*calls, content_text(invocation.final_response)])


def _set_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for pattern in _SET_FILES for file in path.rglob(pattern))
    if not files:
        raise EvaluationError(f"'{path}' has no {' and no '.join(_SET_FILES)}. Name the folder of the sets.")
    return files


async def _app_of(module_name: str, agent_name: str | None) -> App:
    """Return the app of a module, with the named agent as its root."""
    module: Any = import_module(module_name)
    module = getattr(module, "agent", module)
    root = getattr(module, "root_agent", None)
    if root is None and hasattr(module, "get_agent_async"):
        root, _ = await module.get_agent_async()
    app = getattr(module, "app", None)
    if isinstance(app, App):
        root = root or app.root_agent
    if not isinstance(root, BaseAgent):
        raise ConfigurationError(
            f"Module {module_name!r} has no root_agent. Name the module that defines it."
        )
    if agent_name:
        found = root.find_agent(agent_name)
        if found is None:
            raise ConfigurationError(f"There is no agent {agent_name!r} below {root.name!r}.")
        root = found
    if isinstance(app, App):
        return app.model_copy(update={"root_agent": root})
    return App(name=root.name, root_agent=root)

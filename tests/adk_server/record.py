"""Send all requests to google-adk's server and write its answers to `recorded.json`: see CONTRIBUTING.md.

The list of its addresses goes to `offers.json`, in the same directory.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import shutil
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.side_by_side.google_adk import use_google_adk

RECORDED = Path(__file__).parent / "recorded.json"
OFFERS = "offers.json"
AGENTS = Path(__file__).parent / "agents"
"""Directory with the eval set of each app."""


def read_recorded(path: Path = RECORDED) -> dict[str, Any]:
    """Return the recorded answers by the name of the exchange."""
    answers: dict[str, Any] = json.loads(path.read_text())
    return answers


class Loader:
    """Loads the clerk, as google-adk's server wants its loaders."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def load_agent(self, agent_name: str) -> Any:
        return self._root

    def list_agents(self) -> list[str]:
        return [self._root.name]

    def list_agents_detailed(self) -> list[dict[str, Any]]:
        names = {"name": self._root.name, "root_agent_name": self._root.name}
        return [
            {**names, "description": self._root.description, "language": "python", "is_computer_use": False}
        ]


class Results:
    """Service of evaluation results with one result, for google-adk's server."""

    def list_eval_set_results(self, app_name: str) -> list[str]:
        from tests.adk_server.exchanges import RESULT

        return [RESULT]

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> Any:
        from tests.adk_server.exchanges import EVALUATED, METRIC, RESULT, THRESHOLD

        if eval_set_result_id != RESULT:
            raise _of_google_adk("errors.not_found_error", "NotFoundError")("There is no such result.")
        statuses = _of_google_adk("evaluation.eval_metrics", "EvalStatus")

        def case(number: int, name: str, score: float | None) -> Any:
            passed = statuses.NOT_EVALUATED if score is None else statuses(1 + (score < THRESHOLD))
            metric = _of_google_adk("evaluation.eval_metrics", "EvalMetricResult")(
                metric_name=METRIC, threshold=THRESHOLD, score=score, eval_status=passed
            )
            invocation = _of_google_adk("evaluation.eval_metrics", "EvalMetricResultPerInvocation")(
                actual_invocation={"user_content": {}}, eval_metric_results=[metric]
            )
            return _of_google_adk("evaluation.eval_result", "EvalCaseResult")(
                eval_set_id="manners",
                eval_id=name,
                final_eval_status=passed,
                overall_eval_metric_results=[metric],
                eval_metric_result_per_invocation=[invocation],
                session_id=f"00000000-0000-0000-0000-000000000000-{number}",
            )

        return _of_google_adk("evaluation.eval_result", "EvalSetResult")(
            eval_set_result_id=RESULT,
            eval_set_result_name=RESULT,
            eval_set_id="manners",
            eval_case_results=[case(number, *one) for number, one in enumerate(EVALUATED.items(), 1)],
            creation_timestamp=float(RESULT.rpartition("_")[2]),
        )


async def _record(agents: Path) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the answers to the exchanges, and what the server offers.

    Args:
        agents: copy of `AGENTS`, into which the server writes eval sets.
    """
    use_google_adk()
    import httpx

    from tests.adk_server.clerk import clerk
    from tests.adk_server.exchanges import exchange_all
    from tests.adk_server.offers import offers_of

    server = _of_google_adk("cli.dev_server", "DevServer")(
        agent_loader=Loader(clerk()),
        session_service=_of_google_adk("sessions", "InMemorySessionService")(),
        memory_service=_of_google_adk("memory", "InMemoryMemoryService")(),
        artifact_service=_of_google_adk("artifacts", "InMemoryArtifactService")(),
        credential_service=None,
        eval_sets_manager=_of_google_adk("evaluation.local_eval_sets_manager", "LocalEvalSetsManager")(
            str(agents)
        ),
        eval_set_results_manager=Results(),
        agents_dir=".",
    )
    api = server.get_fast_api_app()
    transport = httpx.ASGITransport(api, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def send(method: str, address: str, body: Any) -> tuple[int, Any]:
            answer = await client.request(method, address, json=body)
            if answer.headers["content-type"].startswith("text/event-stream"):
                frames = answer.text.strip().split("\n\n")
                return answer.status_code, [json.loads(frame.removeprefix("data: ")) for frame in frames]
            return answer.status_code, answer.json() if answer.content else None

        return await exchange_all(send), offers_of(api.openapi())


def _lines(values: dict[str, Any]) -> str:
    lines = [f"{json.dumps(name)}: {json.dumps(value, sort_keys=True)}" for name, value in values.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _of_google_adk(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"google.adk.{module}"), name)


if __name__ == "__main__":
    logging.disable()
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as directory:
        copied = shutil.copytree(AGENTS, Path(directory) / "agents")
        answers, offers = asyncio.run(_record(copied))
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    path.write_text(_lines(answers))
    path.with_name(OFFERS).write_text(_lines(offers))

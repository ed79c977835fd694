"""The same requests get the same answers from google-adk's server and from the site.

google-adk's answers are recorded in `recorded.json`. `tests/adk_server/record.py` records them anew, with the Python
that `ADK_PYTHON` names: one with the packages of `requirements-adk.txt`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime.apps import App
from sessions_app.api.adk.adk_api import adk_api
from sessions_app.contrib.evaluation import set_files
from sessions_app.models import EvaluatedCase, Evaluation
from tests.adk_server.clerk import APP, clerk
from tests.adk_server.exchanges import EVALUATED, EXCHANGES, METRIC, RESULT, THRESHOLD, exchange_all
from tests.adk_server.offers import offers_of
from tests.adk_server.record import AGENTS, OFFERS, RECORDED, read_recorded
from tests.integration.api.api_stream import cookies, open_stream, parse
from tests.integration.api.conftest import Program, program
from tests.integration.conftest import configure, loop_end, person, request_forgotten
from tests.served_agents import Served

__all__ = ["configure", "loop_end", "person", "program", "request_forgotten"]  # fixtures
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/adk-server.md"
LITERAL = re.compile(r"`([^`]+)`")
TOKEN = "a" * 32
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
DIFFERENCES = {"confirmation": "Confirmations", "whole session": "Answers"}
"""Exchanges whose answers differ, with the heading of docs/adk-server.md that says how."""


@pytest.fixture
def clerk_is_served(
    monkeypatch: pytest.MonkeyPatch, served: Served, configure: Callable[..., None], tmp_path: Path
) -> None:
    """The agent, on a site in development. Eval sets are written into a copy of its directory."""
    app = App(name=APP, root_agent=clerk())
    served(app)
    configure(reload_agents=True)
    agents = shutil.copytree(AGENTS, tmp_path / "agents")
    monkeypatch.setattr(set_files, "directory_of", lambda name: agents / name)


def make_evaluation() -> None:
    """Store the result that google-adk's server has when it is recorded."""
    begun = datetime.fromtimestamp(float(RESULT.rpartition("_")[2]), UTC)
    made = {
        "id": UUID(int=0),
        "app_name": APP,
        "set_id": "manners",
        "config": {},
        "case_count": len(EVALUATED),
    }
    evaluation = Evaluation.objects.create(**made, created_at=begun, finished_at=begun)
    for position, (eval_id, score) in enumerate(EVALUATED.items(), 1):
        metric = {"metric": METRIC, "threshold": THRESHOLD}
        passed = "passed" if score and score >= THRESHOLD else "failed"
        EvaluatedCase.objects.create(
            evaluation=evaluation,
            position=position,
            eval_id=eval_id,
            case={},
            status="broken" if score is None else passed,
            results=[{**metric, "score": score, "invocations": [{"score": score}]}],
        )


@pytest.fixture
async def staff(clerk_is_served: None, person: User, loop_end: None) -> AsyncClient:
    """A browser of the person, who is a superuser. The site has an evaluation."""
    await sync_to_async(make_evaluation)()
    person.is_staff = person.is_superuser = True
    await person.asave()
    client = AsyncClient()
    await client.aforce_login(person)
    client.cookies["csrftoken"] = TOKEN
    return client


@pytest.fixture
async def answers(
    clerk_is_served: None, program: Program, staff: AsyncClient, loop_end: None
) -> dict[str, Any]:
    """The site's answers to the program; those about evaluations to staff."""

    async def send(method: str, address: str, body: Any) -> tuple[int, Any]:
        is_for_staff = re.search("/eval[_-]", address)
        sent = {**cookies(staff), "x-xsrf-token": TOKEN} if is_for_staff else program.sent
        headers = {**sent, "content-type": "application/json"}
        async with open_stream(f"/adk{address}", headers, method=method, body=body) as response:
            text = await response.rest()
            if address == "/run_sse" and response.status == 200:
                frames = [frame for frame in text.split("\n\n") if frame and not frame.startswith(":")]
                return response.status, [parse(frame).data for frame in frames]
            return response.status, json.loads(text)

    return await exchange_all(send)


@pytest.mark.django_db(transaction=True)
async def test_the_answers_are_those_of_google_adk(answers: dict[str, Any]) -> None:
    recorded = read_recorded()
    for name in recorded:
        if name in DIFFERENCES:
            assert answers[name] != recorded[name], f"The answers to {name!r} agree: it is no difference."
        else:
            assert answers[name] == recorded[name], name


def test_the_recorded_answers_are_those_of_the_exchanges() -> None:
    assert list(read_recorded()) == [one.name for one in EXCHANGES]


@pytest.mark.parametrize("heading", sorted(set(DIFFERENCES.values())))
def test_each_difference_is_documented(heading: str) -> None:
    assert f"**{heading}.**" in PAGE.read_text()


def left_out() -> tuple[re.Pattern[str], set[str]]:
    """Addresses and fields of google-adk's server that the page says the site leaves out."""
    _, _, page = PAGE.read_text().partition("**Left out.**")
    rows = [row for row in page.partition("\n## ")[0].splitlines() if row.startswith("| `")]
    named = [name for row in rows for name in LITERAL.findall(row.split("|")[1])]
    addresses = [name for name in named if "/" in name]
    patterns = [
        ("" if name.startswith(METHODS) else "[A-Z]+ ")
        + re.sub(r"\\{\w+\\}", "{}", re.escape(name)).replace("…", ".*")
        for name in addresses
    ]
    return re.compile("|".join(patterns)), {*named} - {*addresses}


def test_the_site_offers_what_google_adk_offers_or_the_page_says_that_it_is_left_out() -> None:
    ours = offers_of(json.loads(json.dumps(adk_api.get_openapi_schema(), default=str)))
    addresses, fields = left_out()
    theirs = read_recorded(RECORDED.with_name(OFFERS))
    assert [one for one in theirs if one not in ours and not addresses.fullmatch(one)] == []
    assert [one for one in ours if addresses.fullmatch(one)] == []
    missing = {name for one in theirs if one in ours for name in set(theirs[one]) - set(ours[one])}
    assert missing == fields


@pytest.mark.skipif("ADK_PYTHON" not in os.environ, reason="ADK_PYTHON is not set")
def test_the_recorded_answers_are_those_of_the_installed_google_adk(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    command = [os.environ["ADK_PYTHON"], "-m", "tests.adk_server.record", str(path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=240)
    assert path.read_text() == RECORDED.read_text()
    assert path.with_name(OFFERS).read_text() == RECORDED.with_name(OFFERS).read_text()

"""Concurrent `/adk/run_sse` from one web process, beside the site's websocket and google-adk's own server.

Websockets and `/adk/run_sse` are used in turn at one web process, each with sessions of their own, so that both meet
the same load of the machine. The CPU is that of the web process. People and programs are in processes of their own.

A run over HTTP is a request, with a key and a body of its own; the socket is open. Answers of two lengths tell this
from the cost of each further word.

google-adk's server is measured when `ADK_PYTHON` names a Python with `requirements-adk.txt`, or `.venv-adk` has one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import httpx
import psutil

from sessions_app.process.threads import in_thread
from tests.benchmarks.crowd import WorkFailedError, crowd
from tests.benchmarks.daphne import daphne
from tests.benchmarks.doors import make_doors
from tests.benchmarks.people import make_person
from tests.benchmarks.programs import Address
from tests.benchmarks.work import Measurements, Work
from tests.free_port import free_port
from tests.stack.web_process import wait_until_listening

WORK = Work(int(os.environ.get("BENCH_PEOPLE", "200")), turns=3, has_call=False, pause=0.1)
LONG = replace(WORK, words=5 * WORK.words)
ROUNDS = 3
PROGRAMS = "tests.benchmarks.programs"
ADK_PYTHON = Path(os.environ.get("ADK_PYTHON", Path(__file__).parents[2] / ".venv-adk/bin/python"))
SKIPPED = "skipped, because there is no .venv-adk"
AGENT = f"""
import asyncio, time
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

class PacedModel(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        words, due = [], time.perf_counter()
        for _ in range({WORK.words}):
            due += {WORK.seconds_between}
            await asyncio.sleep(due - time.perf_counter())
            words.append(f"{{time.time():.6f}} ")
            yield LlmResponse(content=types.ModelContent(words[-1]), partial=True)
        yield LlmResponse(content=types.ModelContent("".join(words)))

root_agent = LlmAgent(name="paced", model=PacedModel(model="paced"))
"""
"""The paced agent for google-adk."""


async def measure() -> list[str]:
    """Return the figures of the websocket, of `/adk/run_sse` and of google-adk's server, and the ratio of the first."""
    (socket, long_socket), (sse, long_sse) = await _measure_site()
    by_socket, by_sse = _word_cost(socket, long_socket), _word_cost(sse, long_sse)
    return [
        f"{WORK}, {WORK.words} words each, one process, {ROUNDS} rounds in turn:",
        f"  websocket:             {socket}",
        f"  /adk/run_sse:          {sse}, {sse.web_ms / socket.web_ms:.0%} of the websocket's",
        f"  google-adk's run_sse:  {await _measure_google_adk()}",
        f"{LONG.words} words each:",
        f"  websocket:             {long_socket}",
        f"  /adk/run_sse:          {long_sse}, {long_sse.web_ms / long_socket.web_ms:.0%} of the websocket's",
        f"each further word: {by_socket:.0f} and {by_sse:.0f} µs, {by_sse / by_socket:.0%} of the websocket's",
    ]


def _word_cost(short: Measurements, long: Measurements) -> float:
    """Return the microseconds of CPU of each word that the long answers have more."""
    return 1000 * (long.web_ms - short.web_ms) / (LONG.words - WORK.words)


async def _measure_site() -> tuple[list[Measurements], list[Measurements]]:
    """Return the figures of the websocket and of `/adk/run_sse`, each for short and long answers."""
    doors = await in_thread(make_doors, WORK.people, "paced")
    addresses = await in_thread(_make_addresses)
    with daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, server):
        async with crowd(port, server, doors) as people, crowd(port, server, addresses, PROGRAMS) as programs:
            sums = {name: [Measurements(), Measurements()] for name in ("socket", "sse")}
            for _ in range(ROUNDS):
                for length, work in enumerate((WORK, LONG)):
                    sums["socket"][length] += await people.do(work)
                    sums["sse"][length] += await programs.do(work)
    return sums["socket"], sums["sse"]


def _make_addresses() -> list[Address]:
    """Create sessions of one person with a key; return an address for each."""
    from sessions_app.models import ApiKey, Session

    person = make_person()
    _, key = ApiKey.objects.all().make(user=person, name="bench", scopes=["run"])
    headers = {"authorization": f"Bearer {key}"}
    rows = [Session(app_name="paced", user=person, key=uuid4().hex) for _ in range(WORK.people)]
    Session.objects.bulk_create(rows)
    return [
        Address("/adk/run_sse", headers, {"appName": "paced", "userId": str(person.pk), "sessionId": row.key})
        for row in rows
    ]


async def _measure_google_adk() -> str:
    if not ADK_PYTHON.exists():
        return SKIPPED
    with google_adk() as (port, server):
        addresses = []
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            for _ in range(WORK.people):
                names = {"appName": "paced", "userId": "ada", "sessionId": uuid4().hex}
                path, body = "/apps/paced/users/ada/sessions", {"sessionId": names["sessionId"]}
                (await client.post(path, json=body)).raise_for_status()
                addresses.append(Address("/run_sse", {}, names))
        try:
            async with crowd(port, server, addresses, PROGRAMS) as programs:
                return str(await programs.do(WORK))
        except WorkFailedError as error:
            return f"failed: {error}"


@contextmanager
def google_adk() -> Iterator[tuple[int, psutil.Process]]:
    """Run google-adk's server with sessions in memory; yield its port and its process."""
    port = free_port()
    with TemporaryDirectory() as folder:
        agents = Path(folder)
        (agents / "paced").mkdir()
        (agents / "paced" / "__init__.py").write_text("from . import agent\n")
        (agents / "paced" / "agent.py").write_text(AGENT)
        options = ["--port", str(port), "--log_level", "error", "--session_service_uri", "memory://", folder]
        command = [str(ADK_PYTHON), "-m", "google.adk.cli", "api_server", *options]
        variables = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.DEVNULL)
        try:
            wait_until_listening(port)
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()

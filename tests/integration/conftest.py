"""Fixtures of the integration tests: a user, settings, agent folders, a recorded broker, the end of event loops."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any
from uuid import UUID

import pytest
from celery import current_app
from channels.layers import channel_layers
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient
from django.utils import timezone, translation
from psycopg import AsyncConnection
from pytest_django.fixtures import Settings

from sessions_app.agent_apps import registry
from sessions_app.base.actors import Act
from sessions_app.jobs import cancel, repairs, response
from sessions_app.models.session_act import SessionActManager
from sessions_app.process import celery_dispatch, threads
from sessions_app.shutdown import shut_down
from tests.a2a_server import free_socket, listening_app
from tests.background_work import end_background_work
from tests.embedded_sentences import vector_of
from tests.integration.otlp_collector import Collector
from tests.model_server import ModelServer
from tests.noon import ZONE_AT_NOON

WriteFolder = Callable[..., Path]


@pytest.fixture
async def loop_end(transactional_db: None) -> AsyncIterator[None]:
    """Shut down invocations, listeners and pools of the test's loop after the test, before the database is emptied."""
    yield
    await shut_down()


@pytest.fixture(autouse=True)
def request_forgotten() -> Iterator[None]:
    """Forget language and time zone of the last request: Django's client handles all requests in one context."""
    yield
    translation.deactivate()
    timezone.deactivate()


@pytest.fixture
def at_noon(settings: Settings) -> None:
    """Let the site be in a time zone in which midnight does not pass during a test."""
    settings.TIME_ZONE = ZONE_AT_NOON


@pytest.fixture
def background_end(transactional_db: None) -> Iterator[None]:
    """Shut down the process's background loop, which synchronous tests use, after the test."""
    yield
    threads.run(shut_down())


@pytest.fixture
def own_layer(servers: None) -> Iterator[None]:
    """Use a channel layer without connections of earlier event loops. No live view of earlier tests listens."""
    threads.run(end_background_work())
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the hot path has executed in the test, in order."""
    executed: list[str] = []
    execute = AsyncConnection.execute

    async def record(self: Any, query: str, *args: Any, **kwargs: Any) -> Any:
        executed.append(query)
        return await execute(self, query, *args, **kwargs)

    monkeypatch.setattr(AsyncConnection, "execute", record)
    return executed


@pytest.fixture
def death_after_act(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process die as soon as it has recorded an act on a session."""
    record = SessionActManager.record

    def record_and_die(self: SessionActManager, session_id: UUID, act: Act) -> None:
        record(self, session_id, act)
        raise ProcessLookupError

    monkeypatch.setattr(SessionActManager, "record", record_and_die)


@pytest.fixture
def person(transactional_db: None) -> User:
    return get_user_model().objects.create_user("ada", password="secret")


@pytest.fixture
async def browser(person: User) -> AsyncClient:
    """A browser that has signed in."""
    client = AsyncClient()
    await client.aforce_login(person)
    return client


@pytest.fixture
def configure(settings: Settings) -> Callable[..., None]:
    """Return a function that sets `settings.ADK`."""

    def set_conf(**values: Any) -> None:
        settings.ADK = values

    return set_conf


@pytest.fixture
async def collector(loop_end: None, configure: Callable[..., None]) -> AsyncIterator[Collector]:
    """A collector of OTLP on this machine, to which the site exports."""
    collecting = Collector()
    listening, url = free_socket()
    async with listening_app(collecting, listening):
        collecting.configure = lambda **settings: configure(otlp_endpoint=f"{url}/v1/traces", **settings)
        collecting.configure()
        yield collecting


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return a list that records id and task of each job sent to the broker; tests run the jobs with `run_task`."""
    sent: list[tuple[str, str]] = []

    def record(job_id: str | UUID, task_name: str) -> None:
        sent.append((str(job_id), task_name))

    monkeypatch.setattr(celery_dispatch, "send_job", record)
    monkeypatch.setattr(repairs, "send_job", record)
    monkeypatch.setattr(response, "offer_session", lambda session_id: None)
    monkeypatch.setattr(current_app.control, "revoke", lambda *args, **kwargs: None)
    monkeypatch.setattr(cancel, "offer_sweep", lambda seconds: None)
    return sent


@pytest.fixture
def agent_dir(
    tmp_path: Path, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A directory of agent folders that the site serves; the process is as before afterwards."""
    directory = tmp_path / "agents"
    directory.mkdir()
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules, variables = set(sys.modules), set(os.environ)
    configure(agent_dirs=[str(directory)])
    registry.forget_registry()
    yield directory
    for name in set(sys.modules) - modules:
        if name.startswith("google.adk") or str(directory) in repr(sys.modules[name].__spec__):
            del sys.modules[name]
    for variable in set(os.environ) - variables:
        del os.environ[variable]
    registry.forget_registry()


@pytest.fixture
def write_folder(agent_dir: Path) -> WriteFolder:
    """Write the files of an agent folder; `agent` stands for `agent.py`."""

    def write(folder: str, /, **files: str) -> Path:
        (agent_dir / folder).mkdir(exist_ok=True)
        for name, text in files.items():
            (agent_dir / folder / f"{name}.py").write_text(dedent(text))
        return agent_dir / folder

    return write


@pytest.fixture
async def embedding_server() -> AsyncIterator[ModelServer]:
    """Server of a model that has the vectors of `tests/embedded_sentences`."""
    async with ModelServer() as server:
        server.embeddings.vector_of = vector_of
        yield server


@pytest.fixture
def meaning_indexes(transactional_db: None) -> Iterator[None]:
    """Drop the indexes of the test's models: only rows are deleted after a test."""
    yield
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname ~ '^(memory|knowledge)_meaning_'")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX {name}")

"""Fixtures of the integration tests: a user, settings, a recorded broker, and the shutdown of event loops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from celery import current_app
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from sessions_app import celery_dispatch
from sessions_app.db import threads
from sessions_app.jobs import response, sweeper
from sessions_app.shutdown import shut_down


@pytest.fixture
async def loop_end() -> AsyncIterator[None]:
    """Shut down invocations, listeners and pools of the test's loop after the test."""
    yield
    await shut_down()


@pytest.fixture
def background_end(transactional_db: None) -> Iterator[None]:
    """Shut down the process's background loop, which synchronous tests use, after the test."""
    yield
    threads.run(shut_down())


@pytest.fixture
def person(transactional_db: None) -> User:
    return get_user_model().objects.create_user("ada", password="secret")


@pytest.fixture
def configure(settings: Settings) -> Callable[..., None]:
    """Return a function that sets `settings.ADK`."""

    def set_conf(**values: Any) -> None:
        settings.ADK = values

    return set_conf


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return a list that records id and task of each job sent to the broker; tests run the jobs with `run_task`."""
    sent: list[tuple[str, str]] = []

    def record(job_id: str | UUID, task_name: str) -> None:
        sent.append((str(job_id), task_name))

    monkeypatch.setattr(celery_dispatch, "send_job", record)
    monkeypatch.setattr(sweeper, "send_job", record)
    monkeypatch.setattr(response, "send_run_session", lambda session_id: None)
    monkeypatch.setattr(current_app.control, "revoke", lambda *args, **kwargs: None)
    return sent

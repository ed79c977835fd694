"""What tests of the Django side share: a person, a broker, and an end for what runs on a loop."""

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
from sessions_app.conf import conf
from sessions_app.db import threads
from sessions_app.jobs import response, sweeper
from sessions_app.shutdown import shut_down


@pytest.fixture
async def loop_end() -> AsyncIterator[None]:
    """Ends invocations, listeners and pools of this test's loop."""
    yield
    await shut_down()


@pytest.fixture
def background_end(transactional_db: None) -> Iterator[None]:
    """As `loop_end`, of the process's background loop, where tests that are plain functions run them."""
    yield
    threads.run(shut_down())


@pytest.fixture
def person(transactional_db: None) -> User:
    return get_user_model().objects.create_user("ada", password="secret")


@pytest.fixture
def configure(settings: Settings) -> Iterator[Callable[..., None]]:
    """Sets what `settings.ADK` says."""

    def set_conf(**values: Any) -> None:
        settings.ADK = values
        conf.cache_clear()

    yield set_conf
    conf.cache_clear()


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Id and task of each job that would be sent to workers; the tests run it themselves, as often as they like."""
    sent: list[tuple[str, str]] = []

    def note(job_id: str | UUID, task_name: str) -> None:
        sent.append((str(job_id), task_name))

    monkeypatch.setattr(celery_dispatch, "send_job", note)
    monkeypatch.setattr(sweeper, "send_job", note)
    monkeypatch.setattr(response, "send_run_session", lambda session_id: None)
    monkeypatch.setattr(current_app.control, "revoke", lambda *args, **kwargs: None)
    return sent

"""What tests of every kind share: the servers, the whole stack, a browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, sync_playwright
from pytest_django import DjangoDbBlocker

from adk_site.embedded.lifetime import running_servers
from tests.stack.stack import Stack

CHROMIUM = "/usr/bin/chromium"
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright's loop stays in this thread, and asyncio allows only one."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))


def pytest_unconfigure() -> None:
    shutil.rmtree(settings.DATA_DIR)


@pytest.fixture(scope="session")
def servers() -> Iterator[None]:
    """PostgreSQL and Redis, for as long as the tests run: the embedded ones unless the URLs are set."""
    with running_servers(settings.DATA_DIR):
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: None) -> None:
    """Has pytest-django wait for the servers before it makes the test database."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Ends the sessions that threads of asynchronous tests leave open: the database can be dropped then."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole site in processes of its own, with servers and data of its own."""
    with Stack(tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Tests that use it are plain functions."""
    assert Path(CHROMIUM).exists(), f"{CHROMIUM} is not there: apt-get install chromium"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield chromium
        chromium.close()

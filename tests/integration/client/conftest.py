"""A web process of the site on the tests' database, behind a proxy that a test can cut."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from adk_site.embedded.paths import CHECKOUT
from tests.browser.blocking_proxy import BlockingProxy
from tests.free_port import free_port
from tests.integration.api.conftest import make_key
from tests.integration.management.conftest import AGENT
from tests.integration.management.terminal import site_environment
from tests.stack.web_process import wait_until_listening, web_command


@pytest.fixture(scope="package")
def web_port(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a web process that serves the agent folder `clerk`."""
    folder = tmp_path_factory.mktemp("agents") / "clerk"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    port = free_port()
    environment = site_environment(AGENT_DIRS=str(folder.parent))
    with subprocess.Popen(web_command(port), cwd=CHECKOUT, env=environment) as process:
        wait_until_listening(port)
        yield port
        process.terminate()


@pytest.fixture
def proxy(transactional_db: None, web_port: int) -> Iterator[BlockingProxy]:
    """The proxy in front of the web process."""
    with BlockingProxy(web_port) as proxy:
        proxy.sockets = "pass"
        yield proxy


@pytest.fixture
def key(person: User) -> str:
    """A key of the person, with all scopes."""
    return make_key(person)

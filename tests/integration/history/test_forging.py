"""Contract: a change of what an event rests on is found: its actor, the owner, the state, the result of a job."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.history.evidence.definitions import changed_definitions
from sessions_app.history.evidence.integrity import Flaw, flaw_in
from sessions_app.invocations.answers.outside_chat import answer_request
from sessions_app.jobs import job_tool
from sessions_app.models import AnswerRequest, Event, Invocation, Session, ToolJob
from sessions_app.process import threads
from tests.fakes import call
from tests.integration.jobs.job_helpers import clerk_with, run_queue, run_task, talk
from tests.integration.tampering import tamper, verified
from tests.served_agents import Served

FORGERIES = {
    "UPDATE sessions_app_invocation SET actor_name = 'mallory' WHERE client_id = 'm1'": (1, "altered"),
    "UPDATE sessions_app_invocation SET address = '10.0.0.1' WHERE client_id = 'm1'": (1, "altered"),
    "UPDATE sessions_app_invocation SET reason = 'because' WHERE client_id = 'm1'": (1, "altered"),
    "DELETE FROM sessions_app_invocation WHERE client_id = 'm1'": (1, "altered"),
    "UPDATE sessions_app_session SET app_name = 'other'": (1, "altered"),
    "UPDATE sessions_app_session SET user_id = user_id + 1": (1, "altered"),
    "UPDATE sessions_app_session SET initial_state = '{\"a\": 1}'": (1, "altered"),
    "UPDATE sessions_app_session SET state = '{\"a\": 1}'": (6, "state"),
    "UPDATE sessions_app_session SET last_seq = last_seq - 1": (5, "cut off"),
    'UPDATE sessions_app_tooljob SET result = \'{"result": "41 ants"}\'': (5, "altered"),
    "UPDATE sessions_app_event SET hash = sha256('') WHERE seq = 2": (2, "altered"),
    "UPDATE sessions_app_event SET hash = '\\x02' || sha256('') WHERE seq = 6": (6, "altered"),
    "UPDATE sessions_app_event SET hash = NULL WHERE seq = 3": (3, "unsealed"),
}


@job_tool
def count_ants(yard: str) -> str:
    """Count the ants."""
    return f"40 ants in the {yard}"


@pytest.fixture
def counted(
    served: Served,
    broker: list[tuple[str, str]],
    transactional_db: None,
    background_end: None,
) -> Session:
    """A session with a message, a call, its pending response, two answers, and the result of a job."""
    model = clerk_with(count_ants, served)
    model.turns = [[call("count_ants", yard="garden")], "counting", "40 of them"]
    session_id = talk(User.objects.create_user("ada"), "reports", "How many?")
    run_task(ToolJob.objects.get())
    run_queue(session_id)
    return Session.objects.get(pk=session_id)


def test_each_forgery_is_found_at_its_place(counted: Session) -> None:
    assert flaw_in(counted.pk) is None
    found = {}
    for statement in FORGERIES:
        with transaction.atomic(), connection.cursor() as cursor:
            tamper(lambda statement=statement: cursor.execute(statement))  # type: ignore[misc]
            assert cursor.rowcount == 1 or statement.startswith("UPDATE sessions_app_event")
            found[statement] = flaw_in(counted.pk)
            transaction.set_rollback(True)
    expected = {sql: Flaw(counted.pk, seq, problem) for sql, (seq, problem) in FORGERIES.items()}
    assert found == expected


def refund(euros: int) -> str:
    """Refund an amount."""
    return f"{euros} are on their way"


@pytest.mark.parametrize("is_of_staff", [True, False], ids=["staff", "person"])
def test_who_has_approved_and_why_cannot_be_changed_unnoticed(
    served: Served, transactional_db: None, background_end: None, is_of_staff: bool
) -> None:
    model = clerk_with(FunctionTool(refund, require_confirmation=True), served)
    model.turns = [[call("refund", euros=40)], "It is refunded."]
    ada = User.objects.create_user("ada")
    session_id = talk(ada, "reports", "Refund it")
    waiting = AnswerRequest.objects.select_related("session", "job").get()
    if is_of_staff:
        grace = User.objects.create_superuser("grace")
        by = actors.staff(grace, "203.0.113.9")
        threads.run(answer_request(waiting, True, by=by, reason="It is fair.", user=grace))
    else:
        by = actors.person(ada, "203.0.113.9")
        yes = {"confirmed": True}
        threads.run(use_cases.answer_call(by, session_id, waiting.call_id, REQUEST_CONFIRMATION, yes))
    run_queue(session_id)
    approval = Event.objects.get(session=session_id, author="user", kind="response")
    assert "0 not as they were written" in verified()
    forged = {
        "actor_kind": "key",
        "actor_id": "99",
        "actor_name": "mallory",
        "address": "10.0.0.1",
        "reason": "Mallory asked.",
    }
    found = {}
    for column, value in forged.items():
        with transaction.atomic(), connection.cursor() as cursor:
            change = f"UPDATE sessions_app_invocation SET {column} = %s WHERE client_id LIKE 'answer:%%'"
            tamper(lambda change=change, value=value: cursor.execute(change, [value]))  # type: ignore[misc]
            assert cursor.rowcount == 1
            found[column] = f"session {session_id}, event {approval.seq}: altered" in verified()
            transaction.set_rollback(True)
    assert found == dict.fromkeys(forged, True)


def test_the_writer_of_an_event_cannot_choose_its_hash(counted: Session) -> None:
    body = {"author": "clerk", "content": {"parts": [{"text": "So be it."}]}}
    added = Event.objects.create(session=counted, seq=7, body=body, hash=b"\2" + bytes(32))
    Session.objects.filter(pk=counted.pk).update(last_seq=7)
    added.refresh_from_db()
    assert bytes(added.hash or b"") != b"\2" + bytes(32)
    assert flaw_in(counted.pk) is None


CHECKS_MADE_BLIND = {
    "function adk_event_link": """
        CREATE OR REPLACE FUNCTION adk_event_link(previous bytea, seq bigint, body jsonb, before jsonb, facts text)
        RETURNS bytea LANGUAGE sql AS $$
            SELECT e.hash FROM sessions_app_event e WHERE e.seq = $2 AND e.body = $3
        $$""",
    "function sha256": "CREATE FUNCTION sha256(text) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$",
    "function adk_facts": "ALTER FUNCTION adk_facts SET search_path = false_schema, pg_catalog",
    "function adk_first_link": "DROP FUNCTION adk_first_link",
    "table sessions_app_event": """
        ALTER TABLE sessions_app_event RENAME TO shown; CREATE VIEW sessions_app_event AS SELECT * FROM shown""",
    "table sessions_app_tooljob": "ALTER TABLE sessions_app_tooljob ENABLE ROW LEVEL SECURITY",
    "function adk_erase_session": """
        CREATE OR REPLACE FUNCTION adk_erase_session(erased uuid, stone bigint) RETURNS void LANGUAGE plpgsql
        AS $$ BEGIN DELETE FROM sessions_app_event WHERE session_id = erased; END $$""",
    "trigger chain_event of sessions_app_event": "DROP TRIGGER chain_event ON sessions_app_event",
    "trigger event_append_only of sessions_app_event": """
        CREATE OR REPLACE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON sessions_app_event
        FOR EACH ROW WHEN (false) EXECUTE FUNCTION adk_refuse_change()""",
    "trigger record_end of sessions_app_tooljob": """
        ALTER TABLE sessions_app_tooljob DISABLE TRIGGER record_end""",
    "column author of sessions_app_event": """
        ALTER TABLE sessions_app_event ALTER author DROP EXPRESSION""",
    "column kind of sessions_app_event": """
        ALTER TABLE sessions_app_event DROP kind CASCADE, ADD kind text GENERATED ALWAYS AS ('message') STORED""",
    "setting search_path of all roles": """
        CREATE SCHEMA copies; CREATE TABLE copies.sessions_app_event (LIKE sessions_app_event);
        ALTER ROLE ALL SET search_path = copies, public""",
    "setting session_replication_role of all roles": "ALTER ROLE ALL SET session_replication_role = replica",
}
"""What the owner of the tables or a superuser changes so that the checks find nothing, or not what the site shows."""


def test_false_code_in_the_database_is_found(counted: Session) -> None:
    assert changed_definitions() == []
    found = {}
    for name, statement in CHECKS_MADE_BLIND.items():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            found[name] = changed_definitions()
            transaction.set_rollback(True)
    assert found == {name: [name] for name in CHECKS_MADE_BLIND}
    # As some projects do, and other tables of these names are found later.
    own_schema = "CREATE SCHEMA copies; CREATE TABLE copies.sessions_app_event (id int)"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"{own_schema}; ALTER ROLE ALL SET search_path = public, copies")
        assert changed_definitions() == []
        transaction.set_rollback(True)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CHECKS_MADE_BLIND["function adk_event_link"])
        tamper(lambda: Event.objects.filter(seq=2).update(body={"author": "mallory"}))
        assert flaw_in(counted.pk) is None
        with pytest.raises(CommandError, match="1 definition not as of this version"):
            call_command("adk_verify", stdout=StringIO())
        transaction.set_rollback(True)


def test_a_check_that_is_impossible_keeps_no_other_from_its_findings(counted: Session) -> None:
    out = StringIO()
    with transaction.atomic(), connection.cursor() as cursor:
        tamper(lambda: Event.objects.filter(seq=2).update(body={"author": "mallory"}))
        cursor.execute("""
            ALTER TABLE sessions_app_tooljob RENAME TO shown;
            CREATE VIEW sessions_app_tooljob AS SELECT * FROM shown""")
        with pytest.raises(CommandError, match=r"1 not as .*1 definition not .*1 check impossible"):
            call_command("adk_verify", stdout=out)
        transaction.set_rollback(True)
    assert "table sessions_app_tooljob: not as this version" in out.getvalue()
    assert "changed_jobs: impossible" in out.getvalue()
    assert f"session {counted.pk}, event 2: altered" in out.getvalue()


def test_an_odd_event_and_an_odd_invocation_keep_no_log_from_its_check(counted: Session) -> None:
    odd = {"author": "user", "invocationId": "e-odd", "actions": {"stateDelta": "odd"}}
    job = {"actor_kind": "job", "actor_id": "-" * 36}
    Invocation.objects.create(session=counted, invocation_id="e-odd", client_id="odd", message={}, **job)
    for seq, body in enumerate((odd, [], "odd"), start=7):
        Event.objects.create(session=counted, seq=seq, body=body)
    Session.objects.filter(pk=counted.pk).update(last_seq=9)
    assert flaw_in(counted.pk) is None


def test_an_invocation_invented_later_changes_nobody_s_words(counted: Session) -> None:
    """The event of a user that had no invocation when it was written."""
    body = {"author": "user", "invocationId": "e-none", "content": {"parts": [{"text": "Yes."}]}}
    Event.objects.create(session=counted, seq=7, body=body)
    Session.objects.filter(pk=counted.pk).update(last_seq=7)
    assert flaw_in(counted.pk) is None
    Invocation.objects.create(session=counted, invocation_id="e-none", client_id="c", message={})
    assert flaw_in(counted.pk) == Flaw(counted.pk, 7, "altered")

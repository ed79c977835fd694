"""Contract: a write whose process is killed after its effect and before its answer has one effect when sent again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import httpx
import psutil
import pytest
from adk_client import Client
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now

from sessions_app.models import IdempotentRequest
from tests.benchmarks.daphne import forked_daphne
from tests.integration.api.conftest import make_key
from tests.stack.database import server_variables
from tests.stack.lost_answers import writes
from tests.stack.lost_answers.writes import Write

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("transactional_db")]
SETTINGS = "tests.stack.lost_answers.settings"
SECONDS = 60.0
LOCK = 4711
HOLD_ANSWERS = f"""
    CREATE FUNCTION hold_answer() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared({LOCK}); RETURN NEW; END $$;
    CREATE TRIGGER hold_answer BEFORE UPDATE OF status ON sessions_app_idempotentrequest
    FOR EACH ROW EXECUTE FUNCTION hold_answer();
    SELECT pg_advisory_lock({LOCK})
"""
HELD = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = {LOCK} AND NOT granted"
LET_GO = f"""
    SELECT pg_terminate_backend(pid, 5000) FROM ({HELD}) held;
    SELECT pg_advisory_unlock({LOCK});
    DROP TRIGGER hold_answer ON sessions_app_idempotentrequest; DROP FUNCTION hold_answer
"""


@contextmanager
def answers_held() -> Iterator[None]:
    """Hold each answer before it is stored; at the end forget those that are held, as their processes do."""
    with connection.cursor() as cursor:
        cursor.execute(HOLD_ANSWERS)
        try:
            yield
        finally:
            cursor.execute(LET_GO)


def held_answers() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({HELD}) held")
        return int(cursor.fetchone()[0])


def lose_answers(site: str, headers: dict[str, str], web: psutil.Process, some: list[Write]) -> None:
    """Send the writes, and kill the process when each has had its effect and none is answered."""
    with ThreadPoolExecutor(len(some)) as threads, answers_held():
        limits = httpx.Limits(max_connections=len(some))
        with httpx.Client(base_url=site, headers=headers, timeout=SECONDS, limits=limits) as http:
            sent = [threads.submit(http.request, **one.request) for one in some]
            deadline = time.monotonic() + SECONDS
            while held_answers() < len(some):
                answered = [one.result() for one in sent if one.done()]
                assert not answered, [(one.url, one.text) for one in answered]
                assert time.monotonic() < deadline, f"{held_answers()} of {len(some)} answers are held"
                time.sleep(0.01)
            web.kill()
            for one in sent:
                assert isinstance(one.exception(), httpx.TransportError)


def test_a_write_whose_answer_was_lost_has_one_effect_when_it_is_sent_again(
    subtests: pytest.Subtests,
) -> None:
    user = User.objects.create_user("ada")
    headers = {"authorization": f"Bearer {(key := make_key(user))}"}
    variables = server_variables()
    with forked_daphne(SETTINGS, variables) as (port, web):
        site = f"http://127.0.0.1:{port}"
        with Client(site, key) as client, httpx.Client(base_url=site, headers=headers) as http:
            some = [
                *writes.run_acts(client, http),
                *writes.account_writes(user),
                *writes.answers(user),
                *writes.session_writes(user, http),
            ]
        lose_answers(site, headers, web, some)
    IdempotentRequest.objects.update(locked_until=Now() - timedelta(seconds=1))  # what a minute does
    with forked_daphne(SETTINGS, variables) as (port, _):
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=SECONDS) as http:
            for one in some:
                with subtests.test(one.name):
                    check_repetition(http, one)


def check_repetition(http: httpx.Client, one: Write) -> None:
    """Send a write again whose answer was lost, and once more."""
    assert one.effects() == 1
    again = http.request(**one.request)
    assert (again.status_code, one.effects()) == (one.repeated, 1), again.text
    if again.is_error:
        assert "may have done it" in again.json()["detail"]

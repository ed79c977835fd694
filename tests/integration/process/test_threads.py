"""ORM code called from coroutines: it works again at once after a restart of PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection

from runtime.memory.base_memory_service import SearchMemoryResponse
from sessions_app.conf import conf
from sessions_app.process import threads
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoMemoryService
from tests.integration.invocations.restart import end_all_backends, reconnected


@pytest.fixture(autouse=True)
def new_connection(transactional_db: None) -> Iterator[None]:
    with reconnected():
        yield


def backend() -> int:
    """Return the process id of the backend that answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


async def call_in_all_threads() -> set[int]:
    """Return the process ids of the backends that answered."""
    calls = (in_thread(backend) for _ in range(5 * conf().database_threads))
    return set(await asyncio.gather(*calls))


async def test_every_call_after_a_restart_of_postgresql_works() -> None:
    before = await call_in_all_threads()
    await asyncio.to_thread(end_all_backends)
    after = await call_in_all_threads()
    assert after and before.isdisjoint(after)


async def test_a_call_that_the_restart_interrupts_fails_and_the_next_ones_work() -> None:
    def lose_the_connection() -> None:
        backend()
        end_all_backends()
        backend()

    for _ in range(2 * conf().database_threads):
        with pytest.raises(UNAVAILABLE):
            await in_thread(lose_the_connection)
    assert await call_in_all_threads()


def test_a_celery_process_searches_memory_after_a_restart_of_postgresql(person: User) -> None:
    """`threads.run` uses the background loop here as in a Celery process, where no HTTP request cleans up."""
    user_id = str(person.pk)

    def search() -> SearchMemoryResponse:
        return threads.run(DjangoMemoryService().search_memory(app_name="pets", user_id=user_id, query="tea"))

    assert search().memories == []
    end_all_backends()
    assert search().memories == []

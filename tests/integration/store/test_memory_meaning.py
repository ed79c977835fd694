"""Search of memory by meaning, and the vectors behind it (contract F3): docs/memory-and-artifacts.md."""

from __future__ import annotations

import asyncio
import math
import random
import time
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from runtime.events import Event
from runtime.models.embeddings import Embeddings
from runtime.sessions import Session
from sessions_app.agent_apps.checks.vectors import check_vectors
from sessions_app.models import EmbeddingModel, MemoryEntry, MemoryVector, PersonUsage
from sessions_app.process import threads
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoMemoryService, DjangoSessionService, embedding, memory_vectors
from sessions_app.store.embedded_tables import MEMORY
from sessions_app.store.memory_vectors import nearest_entries, nearest_to, prepare_vectors
from sessions_app.tasks import embed_memory
from tests.embedded_sentences import DIMENSIONS, ENTRIES, QUESTIONS, vector_of
from tests.fakes import text_content
from tests.integration.embedding_rounds import kill_a_round_in_its_second_batch
from tests.model_server import Failure, ModelServer

pytestmark = pytest.mark.usefixtures("loop_end", "meaning_indexes")
APP = "pets"
CAT = ENTRIES[0]
PET = QUESTIONS[0][0]
"""A question about the cat that has no word of its sentence but "my" and "is"."""


@pytest.fixture
async def model(embedding_server: ModelServer, settings: Settings) -> str:
    """The name of the model that makes the site's vectors."""
    name = f"{embedding_server.url}/v1#first"
    settings.ADK = {
        **settings.ADK,
        "embeddings": {name: DIMENSIONS},
        "prices": {name: {"input": 1, "output": 0}},
    }
    await in_thread(prepare_vectors)
    return name


async def remember(person: User, *texts: str) -> Session:
    sessions = DjangoSessionService()
    session = await sessions.create_session(app_name=APP, user_id=str(person.pk))
    for text in texts:
        await sessions.append_event(session, Event(author="user", content=text_content(text)))
    await DjangoMemoryService().add_session_to_memory(session)
    return session


async def search(person: User, query: str, limit: int = 20) -> list[str | None]:
    service = DjangoMemoryService(limit=limit)
    result = await service.search_memory(app_name=APP, user_id=str(person.pk), query=query)
    return [(entry.content.parts or [])[0].text for entry in result.memories]


async def free_the_claim() -> None:
    """Let the time of a claim pass."""
    await EmbeddingModel.objects.aupdate(claimed_until=timezone.now())


async def vectors_of(name: str) -> list[str]:
    """Return the texts that have a vector of the model with this name."""
    rows = (
        MemoryVector.objects.filter(model__name=name)
        .order_by("entry_id")
        .values_list("entry__content", flat=True)
    )
    return [content["parts"][0]["text"] async for content in rows]


async def recall(person: User, questions: list[tuple[str, str]]) -> float:
    """Return the share of the questions whose answer is among the first five entries."""
    found = [answer in await search(person, question, limit=5) for question, answer in questions]
    return sum(found) / len(found)


async def test_f3_both_searches_together_find_what_either_finds(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    await remember(person, *ENTRIES)
    of_words = await recall(person, QUESTIONS)
    await embedding.embed_waiting()
    both = await recall(person, QUESTIONS)
    user = str(person.pk)
    nearest = [await nearest_entries(APP, user, question, 5) for question, _ in QUESTIONS]
    texts = {
        pk: entry.content["parts"][0]["text"]
        for pk, entry in (await in_thread(MemoryEntry.objects.in_bulk)).items()
    }
    of_meaning = sum(
        answer in [texts[pk] for pk in pks] for pks, (_, answer) in zip(nearest, QUESTIONS, strict=True)
    ) / len(QUESTIONS)
    assert of_words < 0.6
    assert both >= of_meaning >= 0.95


async def test_f3_the_meaning_of_another_users_entry_is_not_found(person: User, model: str) -> None:
    await remember(await User.objects.acreate(username="bob"), CAT)
    await remember(person, ENTRIES[1])
    await embedding.embed_waiting()
    assert await search(person, PET) == [ENTRIES[1]]
    found = await DjangoMemoryService().search_memory(app_name="other", user_id=str(person.pk), query=PET)
    assert found.memories == []


@pytest.mark.parametrize("most_compared", [0, 100_000])
async def test_f3_a_user_among_many_loses_no_entry(
    person: User, model: str, monkeypatch: pytest.MonkeyPatch, most_compared: int
) -> None:
    """By the index of all users' entries, and by comparing each entry of the user."""
    monkeypatch.setattr(memory_vectors, "MOST_COMPARED", most_compared)
    await remember(person, CAT)
    found = await in_thread(found_among_many)
    assert found >= (0.95 if most_compared == 0 else 1)


def found_among_many() -> float:
    """Give 30 users 40 entries each and one user three; return the share of their nearest entries that is found."""
    chance = random.Random(7)
    model = EmbeddingModel.objects.get()
    session = MemoryEntry.objects.get().session
    users = [User.objects.create(username=f"user{number}") for number in range(31)]
    owners = [user for user in users for _ in range(3 if user == users[-1] else 40)]
    entries = MemoryEntry.objects.bulk_create(
        MemoryEntry(
            app_name=APP,
            user=owner,
            session=session,
            event_id=str(number),
            said_at=timezone.now(),
            content={"parts": []},
            words="word",
        )
        for number, owner in enumerate(owners)
    )
    vectors = {
        entry.pk: [number + chance.gauss(0, 20) for number in vector_of(chance.choice(ENTRIES))]
        for entry in entries
    }
    MemoryVector.objects.bulk_create(
        MemoryVector(entry_id=pk, model=model, numbers=numbers) for pk, numbers in vectors.items()
    )
    found = expected = 0
    for question, _ in QUESTIONS[:5]:
        query = vector_of(question)
        for user in (users[0], users[15], users[-1]):
            own = {entry.pk: vectors[entry.pk] for entry in entries if entry.user == user}
            nearest = sorted(own, key=lambda pk: -similarity(own[pk], query))[:10]
            with transaction.atomic(), connection.cursor() as cursor:
                # Leaves the planner the index of the vectors, if the statement can use it.
                cursor.execute("SET LOCAL enable_sort = off")
                found += len({*nearest} & {*nearest_to(model, APP, user.pk, query, 10)})
            expected += len(nearest)
    return found / expected


def similarity(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.hypot(*one) / math.hypot(*other)


async def test_f3_a_killed_round_stores_nothing_half_and_sends_no_stored_text_again(
    person: User, model: str, embedding_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH_SIZE", 2)
    await remember(person, *ENTRIES[:5])
    await kill_a_round_in_its_second_batch(embedding_server)
    assert await vectors_of(model) == ENTRIES[:2]
    assert await embedding.embed_waiting() == 0, "the claim has not ended"
    await free_the_claim()
    assert await embedding.embed_waiting() == 3
    assert await vectors_of(model) == ENTRIES[:5]
    sent = embedding_server.embeddings.batches
    assert sent == [ENTRIES[:2], ENTRIES[2:4], ENTRIES[2:4], ENTRIES[4:5]]
    assert await EmbeddingModel.objects.filter(completed_at=None).acount() == 0


async def test_f3_two_rounds_at_once_send_each_text_once(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    await remember(person, *ENTRIES[:5])
    assert sorted(await asyncio.gather(*(embedding.embed_waiting() for _ in range(3)))) == [0, 0, 5]
    assert embedding_server.embeddings.batches == [ENTRIES[:5]]


async def test_f3_the_vectors_of_the_earlier_model_serve_until_the_next_has_all(
    person: User,
    model: str,
    embedding_server: ModelServer,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await remember(person, CAT, *ENTRIES[1:4])
    await embedding.embed_waiting()
    second = f"{embedding_server.url}/v1#second"
    settings.ADK = {**settings.ADK, "embeddings": {second: DIMENSIONS, model: DIMENSIONS}}
    assert await embedding.embed_waiting() == 0, "`migrate` prepares the model"
    await in_thread(prepare_vectors)
    assert (await search(person, PET))[0] == CAT
    assert embedding_server.embeddings.bodies[-1]["model"] == "first"
    assert await embedding.embed_waiting() == 4
    assert await vectors_of(second) == [CAT, *ENTRIES[1:4]]
    assert await vectors_of(model) == []
    assert (await search(person, PET))[0] == CAT
    assert embedding_server.embeddings.bodies[-1]["model"] == "second"
    await in_thread(prepare_vectors)
    assert len(await in_thread(index_names)) == MEMORY.parts
    settings.ADK = {**settings.ADK, "embeddings": {model: DIMENSIONS}}
    await in_thread(prepare_vectors)
    monkeypatch.setattr(embedding, "BATCH_SIZE", 1)
    refusal = Failure(http_status=401, status="UNAUTHENTICATED", message="No such key.")
    embedding_server.embeddings.fails = lambda texts: None if texts in ([CAT], [PET]) else refusal
    assert await embedding.embed_waiting() == 1
    assert await nearest_entries(APP, person.pk, PET, 5), "the vectors of the first time are gone"


async def test_f3_an_index_that_an_older_version_built_is_made_anew_beside_it(
    person: User, model: str
) -> None:
    await remember(person, CAT)
    await embedding.embed_waiting()
    names = await in_thread(index_names)
    name = names[7]
    await in_thread(change_index, f"{name} RESET (ef_construction)")
    await in_thread(prepare_vectors)
    assert await in_thread(build_of, name) == ["ef_construction=200"]
    made = await in_thread(oid_of, name)
    # As if the process had died between the last two steps.
    await in_thread(change_index, f"{name} RENAME TO {name}_new")
    await in_thread(prepare_vectors)
    assert await in_thread(index_names) == names
    assert await in_thread(oid_of, name) == made


def change_index(change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER INDEX {change}")


def oid_of(index: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::regclass::oid::int", [index])
        return int(cursor.fetchone()[0])


def build_of(index: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = %s", [index])
        return list(cursor.fetchone()[0])


def index_names() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname LIKE 'memory_meaning_%' ORDER BY 1")
        return [name for (name,) in cursor.fetchall()]


async def test_f3_the_use_of_a_model_counts_for_each_user_up_to_their_limit(
    person: User, model: str, embedding_server: ModelServer, settings: Settings
) -> None:
    bob = await User.objects.acreate(username="bob")
    await remember(person, "one two three four")
    await remember(bob, "one two three four")
    await embedding.embed_waiting()
    row = await EmbeddingModel.objects.aget()
    assert row.tokens == 8
    assert row.cost == pytest.approx(8e-6)
    assert [usage.tokens async for usage in PersonUsage.objects.all()] == [4, 4]

    settings.ADK = {**settings.ADK, "max_tokens_per_user": 6}
    await search(bob, "five six")
    assert (await PersonUsage.objects.aget(user=bob)).tokens == 6
    await remember(bob, CAT)
    await remember(person, CAT)
    assert await embedding.embed_waiting() == 1
    waiting = MemoryEntry.objects.filter(embedded_by=0)
    assert [entry.user_id async for entry in waiting] == [bob.pk]


@pytest.mark.parametrize("failure", ["refused", "silent", "an old extension"])
async def test_f3_a_query_without_a_vector_finds_words(
    person: User,
    model: str,
    embedding_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: str,
) -> None:
    await remember(person, CAT, ENTRIES[1])
    await embedding.embed_waiting()
    if failure == "refused":
        refusal = Failure(http_status=401, status="UNAUTHENTICATED", message="No such key.")
        embedding_server.embeddings.fails = lambda texts: refusal
    elif failure == "an old extension":
        monkeypatch.setattr(memory_vectors, "CANDIDATES", "more than pgvector allows")
        monkeypatch.setattr(memory_vectors, "MOST_COMPARED", 1)
    else:
        monkeypatch.setattr(memory_vectors, "QUERY_SECONDS", 0.05)
        embedding_server.embeddings.is_held = True
    assert await search(person, "Minka?") == [CAT]
    assert "A search finds words only" in caplog.text


async def test_f3_a_text_that_the_model_refuses_keeps_no_other_waiting(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    refusal = Failure(http_status=400, status="INVALID_ARGUMENT", message="Too long.")
    embedding_server.embeddings.fails = lambda texts: refusal if ENTRIES[1] in texts else None
    await remember(person, *ENTRIES[:4])
    assert await embedding.embed_waiting() == 4
    assert await vectors_of(model) == [ENTRIES[0], *ENTRIES[2:4]]
    assert await embedding.embed_waiting() == 0
    assert ENTRIES[1] in await search(person, "peanuts", limit=2)


async def test_f3_no_other_round_begins_while_a_model_refuses_slowly(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    server = embedding_server.embeddings
    refusal = Failure(http_status=400, status="INVALID_ARGUMENT", message="Too long.")

    def refuse(texts: list[str]) -> Failure:
        server.is_held = True  # the next request
        return refusal

    server.fails = refuse
    server.is_held = True
    await remember(person, *ENTRIES[:2])
    slow = asyncio.create_task(embedding.embed_waiting())
    async with asyncio.timeout(20):
        while len(server.batches) < 1:
            await asyncio.sleep(0.01)
        await free_the_claim()
        embedding_server.release()
        while len(server.batches) < 2:
            await asyncio.sleep(0.01)
        assert await embedding.embed_waiting() == 0
    assert len(server.batches) == 2
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)
    server.is_held = False
    embedding_server.release()


async def test_f3_a_round_that_has_lost_its_claim_sends_nothing_more_and_leaves_it_to_the_next(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    server = embedding_server.embeddings
    server.is_held = True
    rounds = []
    await remember(person, *ENTRIES[:2])
    async with asyncio.timeout(20):
        for number in (1, 2):
            rounds.append(asyncio.create_task(embedding.embed_waiting()))
            while len(server.batches) < number:
                await asyncio.sleep(0.01)
            if number == 1:
                await remember(person, ENTRIES[2])
                await free_the_claim()
        embedding_server.release()
        assert await rounds[0] == 2
        assert await embedding.embed_waiting() == 0, "the second round has the claim"
        embedding_server.release()
        assert await rounds[1] == 3
    assert server.batches == [ENTRIES[:2], ENTRIES[:3]]
    assert await vectors_of(model) == ENTRIES[:3]


async def test_f3_a_server_that_refuses_every_text_is_asked_again(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    refusal = Failure(http_status=400, status="INVALID_ARGUMENT", message="Unknown model.")
    embedding_server.embeddings.fails = lambda texts: refusal
    await remember(person, CAT)
    assert await embedding.embed_waiting() == 0
    embedding_server.embeddings.fails = lambda texts: None
    await free_the_claim()
    assert await embedding.embed_waiting() == 1


HOSTILE = [
    "nul \0 here",
    "half \ud800 pair",
    "turned \u202e around",
    "猫の名前はミンカです",
    "word " * 2_000_000,
]


async def test_f3_hostile_texts_get_vectors_and_secrets_stay_here(
    person: User, model: str, embedding_server: ModelServer
) -> None:
    secret = "the password: hunter2hunter2"
    await remember(person, *HOSTILE[:4], secret)
    session = await remember(person)
    # Too long for an event of the log.
    event = Event(author="user", content=text_content(HOSTILE[4]))
    await DjangoMemoryService().add_events_to_memory(
        app_name=APP, user_id=str(person.pk), session_id=session.id, events=[event]
    )
    assert await embedding.embed_waiting() == 6
    sent = "".join(text for batch in embedding_server.embeddings.batches for text in batch)
    assert "hunter2" not in sent
    assert len(sent) < 10_000
    for query in (*HOSTILE, "my password: hunter2hunter2"):
        assert len(await search(person, query)) == 6
    assert "hunter2" not in "".join(text for batch in embedding_server.embeddings.batches for text in batch)


@pytest.mark.parametrize("how", ["forget", "delete the session", "erase during storing"])
async def test_f3_nothing_of_an_erased_entry_stays(
    person: User, model: str, embedding_server: ModelServer, how: str
) -> None:
    """Neither its words nor its vector, in any table."""
    session = await remember(person, CAT)
    await remember(person, ENTRIES[1])
    entry = await MemoryEntry.objects.aget(event_id=session.events[0].id)
    vector = await in_thread(vector_text, CAT)
    if how != "erase during storing":
        await embedding.embed_waiting()
        assert MemoryVector._meta.db_table in await in_thread(tables_with, vector)
    if how == "forget":
        # The log keeps what was said.
        user = {"app_name": APP, "user_id": str(person.pk)}
        await DjangoMemoryService().delete_memory(**user, memory_id=entry.event_id)
    elif how == "delete the session":
        await DjangoSessionService().delete_session(
            app_name=APP, user_id=str(person.pk), session_id=session.id
        )
    else:
        embedding_server.embeddings.is_held = True
        storing = asyncio.create_task(embedding.embed_waiting())
        async with asyncio.timeout(60):
            while not embedding_server.embeddings.batches:
                await asyncio.sleep(0.01)
        await DjangoSessionService().delete_session(
            app_name=APP, user_id=str(person.pk), session_id=session.id
        )
        embedding_server.release()
        await storing
        embedding_server.embeddings.is_held = False
    assert await in_thread(tables_with, vector) == []
    with_words = await in_thread(tables_with, "Minka")
    assert MemoryEntry._meta.db_table not in with_words
    if how != "forget":
        assert with_words == []
    assert await vectors_of(model) == [ENTRIES[1]]
    assert await search(person, PET) == [ENTRIES[1]]


def vector_text(text: str) -> str:
    """Return the beginning of the text's vector as PostgreSQL writes it."""
    vector = Embeddings.of([text], [vector_of(text)], DIMENSIONS, 1).vectors[0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::real[]::text", [vector[:20]])
        (written,) = cursor.fetchone() or ("",)
    return str(written).strip("{}")


def tables_with(text: str) -> list[str]:
    """Return the tables that have the text in any column, arrays, JSON and search vectors included."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{text}%"])
            (count,) = cursor.fetchone() or (0,)
            if count:
                found.append(table)
    return found


def test_f3_the_sweep_asks_for_a_round_while_an_entry_waits(
    person: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ADK = {**settings.ADK, "embeddings": {"gemini-embedding-001": 8}}
    asked: list[str] = []
    monkeypatch.setattr(embedding, "request_embedding", lambda: asked.append("round"))
    embedding.offer_waiting_texts(1.0)
    assert asked == [], "`migrate` has made no row"
    prepare_vectors()
    row = EmbeddingModel.objects.get()
    EmbeddingModel.objects.update(completed_at=timezone.now())
    embedding.offer_waiting_texts(1.0)
    assert asked == [], "no entry waits"
    EmbeddingModel.objects.update(completed_at=None)
    embedding.offer_waiting_texts(1.0)
    assert asked == ["round"]
    EmbeddingModel.objects.update(claimed_until=timezone.now() + timedelta(minutes=1))
    embedding.offer_waiting_texts(1.0)
    assert asked == ["round"], f"{row} is claimed"


@pytest.mark.usefixtures("background_end")
def test_f3_the_task_makes_vectors_while_the_worker_does_other_things(
    person: User, settings: Settings
) -> None:
    server = ModelServer()
    server.embeddings.vector_of = vector_of
    server.embeddings.is_held = True
    threads.run(server.__aenter__())
    try:
        settings.ADK = {**settings.ADK, "embeddings": {f"{server.url}/v1#held": DIMENSIONS}}
        prepare_vectors()
        threads.run(remember(person, CAT))
        embed_memory()  # returns although the server holds its answer
        assert not MemoryVector.objects.exists()
        server.release()
        until = time.monotonic() + 60
        while not MemoryVector.objects.exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert MemoryVector.objects.get().entry.content["parts"][0]["text"] == CAT
    finally:
        threads.run(server.__aexit__(None, None, None))


def test_f3_a_database_without_pgvector_migrates_and_finds_words(person: User, settings: Settings) -> None:
    """The extension may come later, with the next `migrate`."""
    settings.ADK = {**settings.ADK, "embeddings": {"gemini-embedding-001": 8}}
    with connection.cursor() as cursor:
        cursor.execute("DROP EXTENSION IF EXISTS vector CASCADE")
        cursor.execute("CREATE ROLE owner_without_extension")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO owner_without_extension")
        cursor.execute("SET ROLE owner_without_extension")
        try:
            prepare_vectors()
            assert not EmbeddingModel.objects.exists()
            assert [message.id for message in check_vectors(databases=["default"])] == ["sessions_app.W012"]
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP OWNED BY owner_without_extension")
            cursor.execute("DROP ROLE owner_without_extension")
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION vector")
        cursor.execute("UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'")
        prepare_vectors()
        assert not EmbeddingModel.objects.exists()
        cursor.execute("DROP EXTENSION vector")
    prepare_vectors()
    assert EmbeddingModel.objects.exists()
    assert check_vectors(databases=["default"]) == []
    settings.ADK = {"embedings": {}}
    assert check_vectors(databases=["default"]) == [], "another check reports the mistake"

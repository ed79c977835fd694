"""Search of large bases: a PDF of 300 pages in four languages, versions with vectors, plans of the statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from textwrap import wrap

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from sessions_app.contrib.knowledge import search
from sessions_app.contrib.knowledge.publishing import publish
from sessions_app.contrib.knowledge.repairs import knowledge_repairs
from sessions_app.models import (
    EmbeddingModel,
    KnowledgeBase,
    KnowledgePassage,
    KnowledgeVector,
    KnowledgeVersion,
)
from sessions_app.process.sweeping import sweep_over
from sessions_app.process.threads import in_thread
from sessions_app.store import embedding, memory_vectors
from sessions_app.store.memory_vectors import Meaning, prepare_vectors
from sessions_app.store.word_search import MOST_RANKED
from tests import manual_in_languages
from tests.embedded_sentences import DIMENSIONS, ENTRIES, QUESTIONS, vector_of
from tests.integration.contrib.knowledge.bases import find, make_base, read, upload
from tests.integration.contrib.knowledge.files import pdf
from tests.integration.embedding_rounds import kill_a_round_in_its_second_batch
from tests.model_server import ModelServer

FACTS = {
    "Wann werden die Pakete ausgeliefert?": "Pakete werden dienstags und freitags ausgeliefert.",
    "¿Cuántos meses dura la garantía?": "La garantía de las lámparas dura veinticuatro meses.",
    "كم يوما تستغرق إعادة المصباح؟": "إعادة المصباح المكسور ممكنة خلال أربعة عشر يوما.",
}


@pytest.mark.usefixtures("meaning_indexes", "loop_end")
async def test_a_pdf_of_300_pages_is_asked_in_four_languages(
    embedding_server: ModelServer, settings: Settings
) -> None:
    """Words find passages in the language of the question; vectors of a model that knows the languages find others."""
    settings.ADK = {**settings.ADK, "embeddings": {f"{embedding_server.url}/v1#e5": DIMENSIONS}}
    embedding_server.embeddings.vector_of = manual_in_languages.vector_of
    await in_thread(prepare_vectors)
    base = await in_thread(make_base)
    pages = [(heading, wrap(text, 70)) for heading, text in manual_in_languages.PAGES]
    assert len(pages) == 300
    await in_thread(read, base, "manual.pdf", pdf(pages))
    await in_thread(read, base, "facts.md", "".join(f"# n\n\n{fact}\n\n" for fact in FACTS.values()))
    await embed_and_sweep()
    for question, fact in FACTS.items():
        rows = await in_thread(search.find_passages, [base.pk], question, None, 1)
        assert [row.text for row in rows] == [fact]
    model = await EmbeddingModel.objects.aget()
    for language, questions in manual_in_languages.QUESTIONS.items():
        asked = [
            (question.text, manual_in_languages.vector_of(question.text), f"p. {question.page}:")
            for question in questions
        ]
        words, vectors, both = await in_thread(recalls, base, model, asked)
        assert words <= 0.2 and min(vectors, both) >= 0.6, (language, words, vectors, both)


@pytest.mark.usefixtures("meaning_indexes", "loop_end")
async def test_a_kill_among_the_vectors_of_a_version_leaves_the_one_before(
    embedding_server: ModelServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the whole version is found, by both searches better than by words alone."""
    settings.ADK = {**settings.ADK, "embeddings": {f"{embedding_server.url}/v1#first": DIMENSIONS}}
    monkeypatch.setattr(embedding, "BATCH_SIZE", 10)
    await in_thread(prepare_vectors)
    base = await in_thread(make_base)
    old = await in_thread(read, base, "facts.md", "# Old\n\nOld lamp")
    assert (old.status, await in_thread(find, "lamp", base)) == ("embedding", [])
    await embed_and_sweep()
    assert await in_thread(find, "lamp", base) == ["facts.md v1, Old"]

    embedding_server.embeddings.vector_of = lambda text: vector_of(text.partition("\n")[2])
    new = await in_thread(read, base, "facts.md", "".join(f"# n\n\n{text}\n\n" for text in ENTRIES))
    await kill_a_round_in_its_second_batch(embedding_server)
    assert await KnowledgeVector.objects.filter(passage__version=new).acount() == 10
    await in_thread(sweep_over, knowledge_repairs())
    assert await in_thread(publish, new) is False
    meaning = Meaning(await EmbeddingModel.objects.aget(), vector_of(ENTRIES[0]))
    assert await in_thread(lambda: find(ENTRIES[0], base, meaning=meaning)) == ["facts.md v1, Old"]

    await EmbeddingModel.objects.aupdate(claimed_until=timezone.now())
    await embed_and_sweep()
    assert await KnowledgePassage.objects.exclude(version=new).acount() == 0
    assert await KnowledgeVector.objects.acount() == len(ENTRIES)
    asked = [(question, vector_of(question), answer) for question, answer in QUESTIONS]
    words, vectors, both = await in_thread(recalls, base, meaning.model, asked)
    assert words < 0.6
    assert both >= vectors >= 0.95


async def embed_and_sweep() -> None:
    await embedding.embed_waiting()
    await in_thread(sweep_over, knowledge_repairs())


def recalls(
    base: KnowledgeBase, model: EmbeddingModel, asked: Sequence[tuple[str, list[float], str]]
) -> list[float]:
    """Return the shares of the questions with the answer in the first five passages: by words, by vectors, by both.

    Args:
        asked: questions with their vectors, and with the text or the place of the answer.
    """
    shares = []
    for has_words, has_meaning in ((True, False), (False, True), (True, True)):
        found = 0
        for question, vector, answer in asked:
            meaning = Meaning(model, vector) if has_meaning else None
            rows = search.find_passages([base.pk], question if has_words else "?", meaning, 5)
            found += any(answer in f"{row.place}\n{row.text}" for row in rows)
        shares.append(found / len(asked))
    return shares


@pytest.mark.usefixtures("meaning_indexes")
def test_no_statement_of_a_search_reads_all_of_many_passages(
    transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_vectors, "CANDIDATES_OF_INDEX", 32)  # filled in a sixth of the time
    settings.ADK = {**settings.ADK, "embeddings": {"gemini-embedding-001": 8}}
    prepare_vectors()
    model = EmbeddingModel.objects.get()
    base = make_base()
    read(base, "other.txt", "Other words")
    version = upload(base, "many.txt", "x")
    fill(version.pk, model.pk)
    KnowledgeVersion.objects.filter(pk=version.pk).update(status="current")
    with CaptureQueriesContext(connection) as captured:
        found = search.find_passages([base.pk], "word7 the thing lamp", Meaning(model, [0.5] * 8), 5)
    assert len(found) == 5
    asked = [query["sql"] for query in captured if query["sql"].startswith("SELECT")]
    asked = [statement for statement in asked if 'FROM "sessions_app_knowledge' in statement]
    assert len(asked) == 4, "words, size, vectors, rows"
    with transaction.atomic():
        for statement in asked:
            plan = plan_of(statement)
            is_bounded = "LIMIT 20001" in statement
            assert is_bounded or "Seq Scan on sessions_app_knowledgepassage" not in plan, plan
            assert "Seq Scan on sessions_app_knowledgevector" not in plan, plan
    assert_frequent_words_only_fill_up(base)


def assert_frequent_words_only_fill_up(base: KnowledgeBase) -> None:
    """Search for a word that is in each of many passages, beside a rare one and alone."""
    by_words = partial(search.find_passages, [base.pk], meaning=None, limit=5)
    with CaptureQueriesContext(connection) as captured:
        found = by_words("thing lamp19000")
    assert found[0].text == "text 19000"
    assert len(found) == 5
    ranked = [query["sql"] for query in captured if "ts_rank" in query["sql"]]
    assert len(ranked) == 2, "rare and frequent words"
    for statement in ranked:
        sorted_rows = re.search(
            r"Sort .*?\n.*?-> .*? rows=(\d+)", plan_of(statement, "ANALYZE, COSTS OFF"), re.DOTALL
        )
        assert sorted_rows and int(sorted_rows[1]) <= MOST_RANKED, plan_of(statement)
    assert len(by_words("thing")) == 5
    assert {row.text[-2:] for row in by_words("thing word7")} == {"07"} | {" 7"}


def plan_of(statement: str, options: str = "COSTS ON") -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN ({options}) {statement}")
        return "\n".join(line for (line,) in cursor.fetchall())


def fill(version_pk: int, model_pk: int) -> None:
    """Store 21,000 passages with vectors, as embeddings would."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_knowledgepassage (version_id, position, heading, text, words, embedded_by)"
            " SELECT %s, n, '', 'text ' || n, 'the thing word' || n %% 100 || ' lamp' || n, %s"
            " FROM generate_series(1, 21000) n",
            [version_pk, model_pk],
        )
        cursor.execute(
            "INSERT INTO sessions_app_knowledgevector (passage_id, model_id, numbers)"
            " SELECT p.id, %s, ARRAY(SELECT random() + p.id * 0 FROM generate_series(1, 8))"
            " FROM sessions_app_knowledgepassage p WHERE version_id = %s",
            [model_pk, version_pk],
        )
        # As autovacuum does: new entries that the index of words has not sorted in yet change the plan.
        cursor.execute("VACUUM ANALYZE sessions_app_knowledgepassage, sessions_app_knowledgevector")

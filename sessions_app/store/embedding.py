"""Vectors of memory entries and of passages of knowledge bases, made in batches by a model outside of any turn.

The sweep asks a Celery worker for a round when a text waits. The task starts the round on the event loop of its
process and returns. A round claims the model's row, so that no text is sent twice, and each batch renews the claim:

    a text has no vector of the newest model (embedded_by < its key)
      | one request for a batch of texts of a table; its use is counted, for their users and in the model's row
      | one transaction: vectors, `embedded_by`, renewed claim
    done; of texts that were erased or forgotten in the meantime nothing is stored

When a process dies or a server fails, the claim ends by itself after a minute, and the sweep starts the next round. A
round that was only slow sends nothing more when another has the claim, and leaves the claim alone.
Only the batch that was under way is sent again. When no text waits, the model is complete: it serves searches from now
on, and the vectors of earlier models are deleted.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Model, Q, QuerySet
from django.db.models.functions import Now

from runtime.errors import ModelError
from runtime.models.rate_limit import embed
from runtime.models.registry import LLMRegistry
from sessions_app.conf import conf
from sessions_app.models import EmbeddingModel, PersonUsage
from sessions_app.process.celery_dispatch import request_embedding
from sessions_app.process.threads import create_task, in_thread
from sessions_app.store.embedded_tables import EMBEDDED_TABLES, EmbeddedTable
from sessions_app.store.memory_vectors import target_model, text_to_embed, used_for
from sessions_app.store.sql.usage import add_used_by

logger = logging.getLogger(__name__)
BATCH_SIZE = 50
CALL_SECONDS = 30.0
"""Time limit of a request, with its retries."""
CLAIM = timedelta(seconds=60)
DELETED_AT_ONCE = 5_000
REFUSED = "INVALID_ARGUMENT"
PROBE = "Hello"
"""Text that each model accepts: a server that refuses it refuses all texts."""


@dataclass(frozen=True)
class WaitingText:
    """A text without a vector, and the user for whom the use of the model counts; None for nobody."""

    pk: int
    user_pk: Any
    text: str


def offer_waiting_texts(seconds: float) -> bool:
    """Ask a worker for a round if a text waits. Return False: one round takes all texts."""
    if conf().embeddings:
        model = target_model()
        if model is not None and _unclaimed(model).exists() and _has_work(model):
            request_embedding()
    return False


async def start_round() -> None:
    """Start a round, which ends at once if another process has the claim."""
    create_task(embed_waiting(), "embed texts")


async def embed_waiting() -> int:
    """Make vectors until no text waits; return the number of texts. A failure is logged and ends the round."""
    model = await in_thread(_claim)
    if model is None:
        return 0
    done = 0
    try:
        for table in EMBEDDED_TABLES:
            while texts := await in_thread(_waiting, table, model):
                await _embed(table, model, texts)
                done += len(texts)
    except Exception:  # the sweep starts the next round when the claim has ended
        logger.exception("No vectors of texts were made by %s; the sweep tries again", model)
    else:
        await in_thread(_finish, model)
    return done


def waiting_rows(table: EmbeddedTable) -> QuerySet[Any]:
    """Return the texts that wait for a vector of the newest model; none if the site makes no vectors."""
    model = target_model()
    if model is None:
        return table.texts._default_manager.none()
    return _without_vector(table, model)


async def _embed(table: EmbeddedTable, model: EmbeddingModel, texts: Sequence[WaitingText]) -> None:
    """Make and store the vectors. A text that the model refuses gets none.

    Raises:
        ModelError: the model's server failed.
        TimeoutError: the model did not answer in time.
    """
    llm = LLMRegistry.new_llm(model.name)
    try:
        async with asyncio.timeout(CALL_SECONDS):
            made = await embed(llm, [waiting.text for waiting in texts], model.dimensions)
    except ModelError as error:
        if error.code != REFUSED:
            raise
        # Each part of the texts is another request, and a refusal may take as long as an answer.
        await in_thread(_renew_claim, model)
        if len(texts) > 1:
            middle = len(texts) // 2
            await _embed(table, model, texts[:middle])
            await _embed(table, model, texts[middle:])
            return
        async with asyncio.timeout(CALL_SECONDS):
            await embed(llm, [PROBE], model.dimensions)
        noun = table.texts._meta.verbose_name
        logger.warning("%s refused the %s %s, which is found by words only", model, noun, texts[0].pk)
        await in_thread(_store, table, model, {texts[0].pk: None})
        return
    await _count(model, texts, made.tokens)
    vectors = {waiting.pk: vector for waiting, vector in zip(texts, made.vectors, strict=True)}
    await in_thread(_store, table, model, vectors)


async def _count(model: EmbeddingModel, texts: Sequence[WaitingText], tokens: int) -> None:
    """Count the use of a request, for each user by the share of the texts."""
    await in_thread(_count_in_row, model, tokens)
    lengths: Counter[Any] = Counter()
    for waiting in texts:
        lengths[waiting.user_pk] += len(waiting.text)
    for user_pk, length in lengths.items():
        share = round(tokens * length / lengths.total())
        if user_pk is not None:
            await add_used_by(user_pk, used_for(model, share))


def _count_in_row(model: EmbeddingModel, tokens: int) -> None:
    used = used_for(model, tokens)
    row = EmbeddingModel.objects.filter(pk=model.pk)
    row.update(tokens=F("tokens") + used.tokens, cost=F("cost") + used.cost)


def _unclaimed(model: EmbeddingModel) -> QuerySet[EmbeddingModel]:
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=Now())
    return EmbeddingModel.objects.filter(is_free, pk=model.pk)


def _claim() -> EmbeddingModel | None:
    """Claim the model of the settings; None if there is none, or another round has the claim."""
    model = target_model()
    if model is None or not _set_claim(model, _unclaimed(model)):
        return None
    return model


def _renew_claim(model: EmbeddingModel) -> None:
    _set_claim(model, _claimed(model))


@transaction.atomic
def _set_claim(model: EmbeddingModel, row: QuerySet[EmbeddingModel]) -> bool:
    """Claim the row until a time that is kept on the model; return False if the query finds no row."""
    if not row.update(claimed_until=Now() + CLAIM):
        return False
    model.refresh_from_db(fields=["claimed_until"])
    return True


def _claimed(model: EmbeddingModel) -> QuerySet[EmbeddingModel]:
    """Return the row if this round has the claim. A later time is that of another round, begun when the claim ended."""
    return EmbeddingModel.objects.filter(pk=model.pk, claimed_until__lte=model.claimed_until)


def _has_work(model: EmbeddingModel) -> bool:
    if any(_may_be_sent(table, model).exists() for table in EMBEDDED_TABLES):
        return True
    return model.completed_at is None and not _some_wait(model)


def _some_wait(model: EmbeddingModel) -> bool:
    return any(_without_vector(table, model).exists() for table in EMBEDDED_TABLES)


def _without_vector(table: EmbeddedTable, model: EmbeddingModel) -> QuerySet[Model]:
    return table.texts._default_manager.filter(embedded_by__lt=model.pk).exclude(words="")


def _may_be_sent(table: EmbeddedTable, model: EmbeddingModel) -> QuerySet[Model]:
    """Return the texts that wait, without those of users who have reached their limits of the day."""
    at_their_limit = PersonUsage.objects.at_their_limit().values("user")
    return _without_vector(table, model).exclude(**{f"{table.user}__in": at_their_limit})


def _waiting(table: EmbeddedTable, model: EmbeddingModel) -> list[WaitingText]:
    """Return the next texts to send; none if another round has taken the claim, and sends them."""
    if not _claimed(model).exists():
        return []
    in_order = _may_be_sent(table, model).order_by("embedded_by", "pk")
    rows = in_order.values_list("pk", table.user, *table.columns)
    return [
        WaitingText(pk, user_pk, text_to_embed(table.text_of(tuple(values))))
        for pk, user_pk, *values in rows[:BATCH_SIZE]
    ]


def _store(table: EmbeddedTable, model: EmbeddingModel, vectors: Mapping[int, list[float] | None]) -> None:
    """Store the vectors of the texts that still exist, and renew the claim."""
    manager = table.vectors._default_manager
    with transaction.atomic():
        # Locked: forgetting an entry waits, and then deletes the vector as well.
        waiting = _without_vector(table, model).filter(pk__in=vectors)
        rows = waiting.order_by("pk").select_for_update(of=("self",))
        pks = list(rows.values_list("pk", flat=True))
        manager.bulk_create(
            table.vectors(**{f"{table.reference}_id": pk, "model": model, "numbers": numbers})
            for pk in pks
            if (numbers := vectors[pk]) is not None
        )
        table.texts._default_manager.filter(pk__in=pks).update(embedded_by=model.pk)
        _renew_claim(model)


def _finish(model: EmbeddingModel) -> None:
    """Give the claim back. If no text waits, the model is complete, and earlier vectors are deleted."""
    if not _some_wait(model):
        EmbeddingModel.objects.filter(pk=model.pk, completed_at=None).update(completed_at=Now())
        EmbeddingModel.objects.filter(pk__lt=model.pk).update(completed_at=None)
        for table in EMBEDDED_TABLES:
            manager = table.vectors._default_manager
            earlier = manager.filter(model__lt=model.pk)
            while pks := list(earlier.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
                manager.filter(pk__in=pks).delete()
                _renew_claim(model)
    _claimed(model).update(claimed_until=None)

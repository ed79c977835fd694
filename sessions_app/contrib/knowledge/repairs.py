"""Repairs of the sweep: versions that no worker has, that a dead worker left, and that are ready to be published."""

from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from sessions_app.contrib.knowledge.documents import send_version
from sessions_app.contrib.knowledge.publishing import publish
from sessions_app.contrib.knowledge.reading import READ_SECONDS, TOO_HARD
from sessions_app.models import KnowledgeVersion, VersionStatus
from sessions_app.process.sweeping import OverdueRows, Repair, waits_to_be_sent
from sessions_app.store.embedded_tables import KNOWLEDGE
from sessions_app.store.embedding import waiting_rows

LOST_AFTER = timedelta(seconds=READ_SECONDS + 60)
MAX_ATTEMPTS = 3


def knowledge_repairs() -> list[Repair]:
    return [
        OverdueRows(_lost, _recover),
        OverdueRows(_to_send, send_version),
        OverdueRows(_to_publish, publish),
    ]


def _lost() -> QuerySet[KnowledgeVersion]:
    reading = KnowledgeVersion.objects.filter(status=VersionStatus.READING)
    return reading.filter(started_at__lt=Now() - LOST_AFTER).order_by("pk")


def _recover(version: KnowledgeVersion) -> None:
    """Queue a lost version again; end it as failed after `MAX_ATTEMPTS`."""
    again = _lost().filter(pk=version.pk, attempts=version.attempts)
    if version.attempts >= MAX_ATTEMPTS:
        again.update(status=VersionStatus.FAILED, error=TOO_HARD, finished_at=Now())
    elif again.update(status=VersionStatus.QUEUED, sent_at=None, sends=0):
        send_version(version)


def _to_send() -> QuerySet[KnowledgeVersion]:
    return KnowledgeVersion.objects.filter(waits_to_be_sent(), status=VersionStatus.QUEUED).order_by("pk")


def _to_publish() -> QuerySet[KnowledgeVersion]:
    """Return the versions whose passages have all vectors."""
    embedding = KnowledgeVersion.objects.filter(status=VersionStatus.EMBEDDING).order_by("pk")
    return embedding.filter(~Exists(waiting_rows(KNOWLEDGE).filter(version=OuterRef("pk"))))

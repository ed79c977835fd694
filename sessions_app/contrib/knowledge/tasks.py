"""Celery task: read an uploaded file."""

from celery import shared_task

from sessions_app.contrib.knowledge.documents import READ_KNOWLEDGE
from sessions_app.contrib.knowledge.reading import read_version


@shared_task(name=READ_KNOWLEDGE, ignore_result=True)
def read_knowledge(version_id: int) -> None:
    """Read a version of a document, and store its passages."""
    read_version(version_id)

"""Knowledge bases with documents, for the tests of the app."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from sessions_app.contrib.knowledge.documents import upload_file
from sessions_app.contrib.knowledge.reading import read_version
from sessions_app.contrib.knowledge.search import find_passages
from sessions_app.models import KnowledgeBase, KnowledgeVersion
from sessions_app.store.memory_vectors import Meaning

HANDBOOK = """# Shop

We sell lamps.

## Refunds

A broken lamp is refunded within 14 days.

### Late returns

After 14 days a voucher is given.

## Delivery

Parcels arrive on Tuesdays.
"""


def make_base(name: str = "handbook", **values: Any) -> KnowledgeBase:
    return KnowledgeBase.objects.create(name=name, **values)


def upload(
    base: KnowledgeBase, name: str = "shop.md", data: str | bytes = HANDBOOK, user: User | None = None
) -> KnowledgeVersion:
    """Upload a file, which no worker has read yet."""
    content = data.encode() if isinstance(data, str) else data
    return upload_file(base, SimpleUploadedFile(name, content), user and user.pk)


def read(
    base: KnowledgeBase, name: str = "shop.md", data: str | bytes = HANDBOOK, user: User | None = None
) -> KnowledgeVersion:
    """Upload a file and read it, as a worker does."""
    version = upload(base, name, data, user)
    read_version(version.pk)
    version.refresh_from_db()
    return version


def find(query: str, *bases: KnowledgeBase, meaning: Meaning | None = None, limit: int = 5) -> list[str]:
    """Return the places of the passages that a search finds, the best first."""
    return [str(row) for row in find_passages([base.pk for base in bases], query, meaning, limit)]

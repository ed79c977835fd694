"""Uploads to knowledge bases, which the test reads itself in place of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from sessions_app.contrib.knowledge import documents, repairs
from sessions_app.models import KnowledgeVersion


@pytest.fixture(autouse=True)
def sent(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> Iterator[list[int]]:
    """The keys of the versions that were sent to the broker."""
    settings.MEDIA_ROOT = tmp_path
    found: list[int] = []

    def send(version: KnowledgeVersion) -> None:
        found.append(version.pk)

    monkeypatch.setattr(documents, "send_version", send)
    monkeypatch.setattr(repairs, "send_version", send)
    yield found

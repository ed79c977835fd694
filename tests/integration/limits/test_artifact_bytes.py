"""Size of all artifacts of a person (docs/limits.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import connections

from runtime import types
from sessions_app.errors import LimitExceededError
from sessions_app.models import Artifact, PersonUsage, Session
from sessions_app.store.artifact_service import DjangoArtifactService

Configure = Callable[..., None]


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="words", user=person, key="s-1")


def save(session: Session, size: int, filename: str = "notes.txt") -> int:
    service = DjangoArtifactService()
    return async_to_sync(service.save_artifact)(
        app_name=session.app_name,
        user_id=str(session.user_id),
        session_id=session.key,
        filename=filename,
        artifact=types.Part(text="x" * size),
    )


def stored(person: User) -> int:
    return PersonUsage.objects.get(pk=person.pk).artifact_bytes


def files() -> set[str]:
    return set(default_storage.listdir("artifacts")[1])


def test_files_of_a_person_are_limited_with_all_versions_and_sessions(
    person: User, session: Session, configure: Configure
) -> None:
    configure(max_artifact_bytes_per_user=100)
    other = Session.objects.create(app_name="other", user=person, key="s-2")
    assert [save(session, 40), save(session, 40)] == [0, 1]
    save(other, 20, "user:name.txt")
    before = files()
    with pytest.raises(LimitExceededError, match=r"may have 100 bytes together.*Delete files"):
        save(other, 1)
    save(other, 0, "empty.txt")
    assert len(files()) == len(before) + 1  # of the refused file nothing is left
    Artifact.objects.filter(version=1).delete()
    save(other, 40)
    assert stored(person) == 100
    eve = User.objects.create_user("eve")
    save(Session.objects.create(app_name="words", user=eve, key="s-3"), 100)


def test_a_session_that_is_deleted_gives_its_bytes_back(person: User, session: Session) -> None:
    save(session, 40)
    save(session, 2, "user:kept.txt")
    session.delete()
    assert stored(person) == 2
    person.delete()
    assert not PersonUsage.objects.exists()


def test_concurrent_saves_cannot_exceed_the_limit_together(
    person: User, session: Session, configure: Configure
) -> None:
    configure(max_artifact_bytes_per_user=100)
    begin = threading.Barrier(8)
    refused: list[LimitExceededError] = []

    def save_one(number: int) -> None:
        begin.wait()
        try:
            save(session, 30, f"{number}.txt")
        except LimitExceededError as error:
            refused.append(error)
        finally:
            connections.close_all()

    before = files() if default_storage.exists("artifacts") else set()
    threads = [threading.Thread(target=save_one, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(refused), stored(person), len(files() - before)) == (5, 90, 3)

"""Contract of artifact services (F1, Q15). Run by test_in_memory.py and test_django.py.

Both provide the fixtures `artifacts` and `sessions` (the services), `ada` and `bob` (ids of existing users).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from runtime import types
from runtime.artifacts import BaseArtifactService
from runtime.artifacts.base_artifact_service import ArtifactVersion
from runtime.sessions import BaseSessionService

APP = "shop"


@dataclass
class Shelf:
    """The artifacts of one session."""

    service: BaseArtifactService
    user_id: str
    session_id: str
    app_name: str = APP

    @property
    def owner(self) -> dict[str, str]:
        return {"app_name": self.app_name, "user_id": self.user_id, "session_id": self.session_id}

    async def save(self, filename: str, part: types.Part | str) -> int:
        part = types.Part(text=part) if isinstance(part, str) else part
        return await self.service.save_artifact(**self.owner, filename=filename, artifact=part)

    async def load(self, filename: str, version: int | None = None) -> types.Part | None:
        return await self.service.load_artifact(**self.owner, filename=filename, version=version)

    async def text(self, filename: str, version: int | None = None) -> str | None:
        part = await self.load(filename, version)
        return part.text if part else None

    async def facts(self, filename: str, version: int | None = None) -> ArtifactVersion | None:
        return await self.service.get_artifact_version(**self.owner, filename=filename, version=version)

    async def names(self) -> list[str]:
        return await self.service.list_artifact_keys(**self.owner)

    async def versions(self, filename: str) -> list[int]:
        return await self.service.list_versions(**self.owner, filename=filename)

    async def delete(self, filename: str) -> None:
        await self.service.delete_artifact(**self.owner, filename=filename)


class ArtifactServiceContract:
    """Contract F1: versions, scopes and content of artifacts."""

    @pytest.fixture
    async def shelf(self, artifacts: BaseArtifactService, sessions: BaseSessionService, ada: str) -> Shelf:
        session = await sessions.create_session(app_name=APP, user_id=ada)
        return Shelf(artifacts, ada, session.id)

    @pytest.fixture
    async def next_shelf(
        self, artifacts: BaseArtifactService, sessions: BaseSessionService, ada: str
    ) -> Shelf:
        """Return the artifacts of another session of the same user."""
        session = await sessions.create_session(app_name=APP, user_id=ada)
        return Shelf(artifacts, ada, session.id)

    async def test_versions_count_from_zero_for_each_name(self, shelf: Shelf) -> None:
        assert [await shelf.save("a", text) for text in ("x", "y", "z")] == [0, 1, 2]
        assert await shelf.save("b", "other") == 0
        assert await shelf.versions("a") == [0, 1, 2]

    async def test_the_latest_version_is_loaded_unless_one_is_named(self, shelf: Shelf) -> None:
        for text in ("x", "y", "z"):
            await shelf.save("a", text)
        assert [await shelf.text("a", version) for version in (None, 0, 1, 2)] == ["z", "x", "y", "z"]

    async def test_missing_artifacts_are_none_or_empty(self, shelf: Shelf) -> None:
        await shelf.save("a", "x")
        assert await shelf.load("b") is None
        assert await shelf.load("a", version=1) is None
        assert await shelf.versions("b") == []
        await shelf.delete("b")
        assert await shelf.names() == ["a"]

    async def test_a_version_has_a_uri_a_time_and_a_type(self, shelf: Shelf) -> None:
        await shelf.save("a/b.txt", "x")
        await shelf.save("a/b.txt", types.Part(inline_data=types.Blob(data=b"y", mime_type="text/csv")))
        first, latest = await shelf.facts("a/b.txt", 0), await shelf.facts("a/b.txt")
        assert first and latest
        assert [(facts.version, facts.mime_type) for facts in (first, latest)] == [
            (0, "text/plain"),
            (1, "text/csv"),
        ]
        assert latest.canonical_uri == "artifact:a%2Fb.txt?version=1"
        assert 0 < first.create_time <= latest.create_time
        assert await shelf.facts("a/b.txt", 2) is None and await shelf.facts("c") is None

    @pytest.mark.parametrize(
        "part",
        [
            types.Part(text="Grüße 😀\n"),
            types.Part(text=""),
            types.Part(inline_data=types.Blob(data=bytes(range(256)), mime_type="application/pdf")),
            types.Part(inline_data=types.Blob(data=b"a;b", mime_type="text/csv; charset=utf-8")),
            types.Part(inline_data=types.Blob(data=b"", mime_type="text/plain")),
        ],
        ids=["text", "empty text", "binary", "binary text", "empty binary"],
    )
    async def test_a_saved_part_is_loaded_unchanged(self, shelf: Shelf, part: types.Part) -> None:
        await shelf.save("a", part)
        assert await shelf.load("a") == part

    async def test_changing_a_part_does_not_change_the_store(self, shelf: Shelf) -> None:
        part = types.Part(text="kept")
        await shelf.save("a", part)
        part.text = "changed"
        loaded = await shelf.load("a")
        assert loaded is not None and loaded.text == "kept"
        loaded.text = "changed"
        assert await shelf.text("a") == "kept"

    @pytest.mark.parametrize(
        "name", ["a/b/c.txt", "../../etc/passwd", "/abs", "sp ace ü.txt", "user:a/b.txt"]
    )
    async def test_a_name_may_hold_slashes_and_special_characters(self, shelf: Shelf, name: str) -> None:
        """Contract Q15."""
        assert await shelf.save(name, "x") == 0
        assert await shelf.save(name, "y") == 1
        assert (await shelf.names(), await shelf.text(name), await shelf.versions(name)) == (
            [name],
            "y",
            [0, 1],
        )

    async def test_a_name_that_is_a_prefix_of_another_is_independent_of_it(self, shelf: Shelf) -> None:
        """Contract Q15."""
        await shelf.save("a", "file")
        await shelf.save("a/b", "below")
        await shelf.delete("a")
        assert (await shelf.names(), await shelf.text("a/b")) == (["a/b"], "below")

    async def test_a_file_belongs_to_its_session(self, shelf: Shelf, next_shelf: Shelf) -> None:
        await shelf.save("a", "mine")
        assert (await next_shelf.names(), await next_shelf.load("a")) == ([], None)
        assert await next_shelf.save("a", "other") == 0
        assert (await shelf.text("a"), await shelf.versions("a")) == ("mine", [0])

    async def test_a_user_file_is_shared_by_all_sessions_of_the_user(
        self, shelf: Shelf, next_shelf: Shelf
    ) -> None:
        await shelf.save("user:a", "one")
        assert await next_shelf.text("user:a") == "one"
        assert await next_shelf.save("user:a", "two") == 1
        assert (await shelf.text("user:a"), await shelf.versions("user:a")) == ("two", [0, 1])
        await shelf.save("b", "x")
        assert await shelf.names() == ["b", "user:a"]
        assert await next_shelf.names() == ["user:a"]
        await next_shelf.delete("user:a")
        assert await shelf.names() == ["b"]

    async def test_files_of_another_user_or_app_are_invisible(
        self, shelf: Shelf, sessions: BaseSessionService, bob: str
    ) -> None:
        await shelf.save("user:a", "ada's")
        await shelf.save("a", "ada's")
        bobs_session = await sessions.create_session(app_name=APP, user_id=bob, session_id=shelf.session_id)
        other_app = await sessions.create_session(
            app_name="other", user_id=shelf.user_id, session_id=shelf.session_id
        )
        for session in (bobs_session, other_app):
            other = Shelf(shelf.service, session.user_id, session.id, session.app_name)
            assert await other.names() == []
            assert (await other.load("user:a"), await other.load("a")) == (None, None)
            await other.delete("a")
        assert await shelf.text("a") == "ada's"

    async def test_deleting_a_file_deletes_all_its_versions(self, shelf: Shelf) -> None:
        await shelf.save("a", "x")
        await shelf.save("a", "y")
        await shelf.delete("a")
        assert (await shelf.names(), await shelf.versions("a"), await shelf.load("a", 0)) == ([], [], None)
        assert await shelf.save("a", "new") == 0

    async def test_concurrent_saves_get_different_versions(self, shelf: Shelf) -> None:
        numbers = await asyncio.gather(*(shelf.save("a", str(number)) for number in range(8)))
        assert sorted(numbers) == list(range(8))
        assert [await shelf.text("a", version) for version in numbers] == [str(n) for n in range(8)]

"""References to artifacts: what the log keeps, and what a request holds in their place (contract F4)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.artifacts import InMemoryArtifactService, referenced_artifacts
from runtime.artifacts.borrowed_artifact_service import SessionArgs
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.run_config import RunConfig
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService
from tests.fakes import ScriptedModel, say

PNG = b"\x89PNG\r\n\x1a\n"
OWNER: SessionArgs = {"app_name": "app", "user_id": "ada", "session_id": "s1"}


class RecordingArtifactService(InMemoryArtifactService):
    """Service that records the names of the artifacts that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    async def load_artifact(self, *, filename: str, **values: Any) -> types.Part | None:
        self.read.append(filename)
        return await super().load_artifact(filename=filename, **values)


class Conversation:
    """A session whose model answers each message with "ok"."""

    def __init__(self) -> None:
        self.model = ScriptedModel(rule=lambda request: "ok")
        self.artifacts = RecordingArtifactService()
        self.runner = Runner(
            agent=LlmAgent(name="agent", model=self.model),
            app_name="app",
            session_service=InMemorySessionService(),
            artifact_service=self.artifacts,
        )

    async def open(self) -> None:
        await self.runner.session_service.create_session(**OWNER)

    async def save(self, filename: str, data: bytes, mime_type: str) -> ArtifactReference:
        part = types.Part.from_bytes(data=data, mime_type=mime_type)
        saved = await self.artifacts.save_artifact(**OWNER, filename=filename, artifact=part)
        return ArtifactReference(filename, saved, mime_type)

    async def say(
        self, *parts: types.Part | ArtifactReference, run_config: RunConfig | None = None
    ) -> list[types.Part]:
        """Send a message; return the parts of all contents of the request."""
        own = [part.as_part() if isinstance(part, ArtifactReference) else part for part in parts]
        message = types.Content(role="user", parts=own)
        async for _ in self.runner.run_async(
            user_id="ada", session_id="s1", new_message=message, run_config=run_config
        ):
            pass
        return [part for content in self.model.requests[-1].contents for part in content.parts or []]

    async def log(self) -> str:
        session = await self.runner.session_service.get_session(**OWNER)
        return "".join(event.model_dump_json() for event in session.events) if session else ""


@pytest.fixture
async def conversation() -> Conversation:
    conversation = Conversation()
    await conversation.open()
    return conversation


def texts(parts: list[types.Part]) -> list[str]:
    return [part.text or "" for part in parts]


@pytest.mark.parametrize(
    "name", ["a.png", "items", "../../x", "a?version=9#b", "Größe \u202egnp.exe", "%2e", "x" * 300]
)
def test_a_reference_survives_its_part(name: str) -> None:
    reference = ArtifactReference(name, 3, "image/png")
    stored = types.Part.model_validate_json(reference.as_part().model_dump_json())
    assert ArtifactReference.of_part(stored) == reference


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/x.png",
        "artifact:a",
        "artifact:a?version=x",
        f"artifact:a?version={'9' * 99}",
        "artifact://[x",
    ],
)
def test_other_files_are_no_references(uri: str) -> None:
    part = types.Part(file_data=types.FileData(file_uri=uri, mime_type="image/png"))
    assert ArtifactReference.of_part(part) is None
    assert ArtifactReference.of_part(types.Part(text=uri)) is None


async def test_a_request_holds_the_file_and_the_log_only_its_name(conversation: Conversation) -> None:
    picture = await conversation.save("cat.png", PNG, "image/png")
    sent = await conversation.say(types.Part(text="What is this?"), picture)
    assert texts(sent[:2]) == ["What is this?", "The file 'cat.png':"]
    assert sent[2].inline_data is not None and sent[2].inline_data.data == PNG
    log = await conversation.log()
    assert "artifact:cat.png?version=0" in log and 'inline_data":{' not in log
    again = await conversation.say(types.Part(text="And now?"))
    assert again[2].inline_data is not None and again[2].inline_data.data == PNG


async def test_a_text_is_sent_as_text_and_a_long_one_is_cut(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referenced_artifacts, "MAX_CHARACTERS", 3)
    table = await conversation.save("t.csv", b"a,b\n1,2", "text/csv")
    sent = await conversation.say(table)
    assert texts(sent) == ["The file 't.csv':\na,b\n[4 more characters are in the artifact.]"]


async def test_the_version_of_the_message_is_sent(conversation: Conversation) -> None:
    first = await conversation.save("n.txt", b"old", "text/plain")
    await conversation.save("n.txt", b"new", "text/plain")
    assert texts(await conversation.say(first)) == ["The file 'n.txt':\nold"]


async def test_other_types_are_named_and_so_is_a_file_that_is_gone(conversation: Conversation) -> None:
    archive = await conversation.save("a.zip", b"PK", "application/zip")
    gone = ArtifactReference("gone.png", 0, "image/png")
    archived, missing = texts(await conversation.say(archive, gone))
    assert "'a.zip' (application/zip)" in archived and "artifact" in archived
    assert "'gone.png'" in missing and "does not exist" in missing


async def test_the_latest_files_fit_first(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referenced_artifacts, "MAX_BYTES", len(PNG))
    await conversation.say(await conversation.save("old.png", PNG, "image/png"))
    sent = await conversation.say(await conversation.save("new.png", PNG, "image/png"))
    assert texts(sent)[:1] == ["[The file 'old.png' is an artifact of this name, not shown here.]"]
    assert texts(sent)[-2] == "The file 'new.png':"
    assert sent[-1].inline_data is not None


async def test_no_file_is_read_after_the_first_that_does_not_fit(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referenced_artifacts, "MAX_BYTES", 5)
    for filename, text in (("a.txt", b"a"), ("b.txt", b"b" * 6), ("c.txt", b"c")):
        await conversation.say(await conversation.save(filename, text, "text/plain"))
    conversation.artifacts.read.clear()
    sent = texts(await conversation.say(types.Part(text="Well?")))
    assert conversation.artifacts.read == ["c.txt", "b.txt"]
    assert ["not shown here" in text for text in sent[:-1:2]] == [True, True, False]


async def test_input_context_is_sent_before_a_message_with_a_file(conversation: Conversation) -> None:
    """Contract L10."""
    await conversation.say(types.Part(text="Hello"))
    note = await conversation.save("n.txt", b"buy milk", "text/plain")
    sent = await conversation.say(note, run_config=RunConfig(model_input_context=[say("It is Monday.")]))
    assert texts(sent) == ["Hello", "ok", "It is Monday.", "The file 'n.txt':\nbuy milk"]

"""References to artifacts: what the log keeps, and what a request holds in their place (contract F4)."""

from __future__ import annotations

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.artifacts.artifact_reference import ArtifactReference
from runtime.artifacts.borrowed_artifact_service import Owner
from runtime.engine import referenced_artifacts
from runtime.runners import InMemoryRunner
from tests.fakes import ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n"
OWNER: Owner = {"app_name": "app", "user_id": "ada", "session_id": "s1"}


class Conversation:
    """A session whose model answers each message with "ok"."""

    def __init__(self) -> None:
        self.model = ScriptedModel(rule=lambda request: "ok")
        self.runner = InMemoryRunner(LlmAgent(name="agent", model=self.model), app_name="app")

    async def open(self) -> None:
        await self.runner.session_service.create_session(**OWNER)

    async def save(self, filename: str, data: bytes, mime_type: str) -> ArtifactReference:
        part = types.Part.from_bytes(data=data, mime_type=mime_type)
        assert self.runner.artifact_service is not None
        saved = await self.runner.artifact_service.save_artifact(**OWNER, filename=filename, artifact=part)
        return ArtifactReference(filename, saved, mime_type)

    async def say(self, *parts: types.Part | ArtifactReference) -> list[types.Part]:
        """Send a message; return the parts of all contents of the request."""
        own = [part.as_part() if isinstance(part, ArtifactReference) else part for part in parts]
        message = types.Content(role="user", parts=own)
        async for _ in self.runner.run_async(user_id="ada", session_id="s1", new_message=message):
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
    monkeypatch.setattr(referenced_artifacts, "MOST_CHARACTERS", 3)
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
    monkeypatch.setattr(referenced_artifacts, "MOST_BYTES", len(PNG))
    await conversation.say(await conversation.save("old.png", PNG, "image/png"))
    sent = await conversation.say(await conversation.save("new.png", PNG, "image/png"))
    assert texts(sent)[:1] == [
        "[The file 'old.png' was uploaded. It is an artifact of this name, not shown here.]"
    ]
    assert texts(sent)[-2] == "The file 'new.png':"
    assert sent[-1].inline_data is not None

"""Contract Q2: files in a tool's result become artifacts, described in the response and shown to the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.errors import ConfigurationError
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, requests_to, response_of

PNG = b"\x89PNG"


def part(data: bytes = PNG, mime_type: str | None = "image/png", name: str | None = None) -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime_type, display_name=name))


def agent_with(function: Callable[..., Any]) -> LlmAgent:
    model = ScriptedModel(turns=[call("draw"), "Here it is.", "You are welcome."])
    return LlmAgent(name="artist", model=model, tools=[function])


class Drawing:
    """A conversation in which the tool `draw` has returned a result."""

    def __init__(self, response: dict[str, Any], delta: dict[str, int], talk: Conversation, agent: LlmAgent):
        self.response = response
        self.delta = delta
        self.talk = talk
        self.agent = agent

    @property
    def prefix(self) -> str:
        """The beginning of the names of the call's files."""
        [name] = {name.rpartition("-")[0] for name in self.delta}
        return name

    def shown(self, request: int = 1) -> list[types.Part]:
        """Return the parts that follow the function response in a request of the agent."""
        contents = requests_to(self.agent)[request].contents
        [position] = [
            index
            for index, content in enumerate(contents)
            if any(part.function_response for part in content.parts or [])
        ]
        return [part for content in contents[position + 1 :] for part in content.parts or []]

    async def saved(self, name: str) -> types.Blob | None:
        session = await self.talk.session()
        assert self.talk.runner.artifact_service is not None
        artifact = await self.talk.runner.artifact_service.load_artifact(
            app_name="shop", user_id="ada", session_id=session.id, filename=name
        )
        assert artifact is not None
        return artifact.inline_data


async def drawing_of(result: Any) -> Drawing:
    """Return the conversation in which the tool returns this."""

    async def draw() -> Any:
        """Draw a picture."""
        return result

    agent = agent_with(draw)
    talk = Conversation(agent)
    events = await talk.say("Draw!")
    return Drawing(response_of(events[1]), events[1].actions.artifact_delta, talk, agent)


async def test_a_picture_is_saved_described_and_shown_in_the_next_step_only() -> None:
    drawing = await drawing_of(types.Part.from_bytes(data=PNG, mime_type="image/png"))
    name = f"{drawing.prefix}-1.png"
    assert name.startswith("draw-")
    assert drawing.response == {"mimeType": "image/png", "file": name, "version": 0}
    assert drawing.delta == {name: 0}
    assert await drawing.saved(name) == types.Blob(data=PNG, mime_type="image/png")
    assert drawing.shown() == [types.Part(text=f"The file {name!r}:"), part()]
    await drawing.talk.say("Thank you.")
    assert not any(part.inline_data for part in drawing.shown(2))


async def test_files_are_found_in_dicts_lists_blobs_and_contents() -> None:
    blob = types.Blob(data=b"%PDF", mime_type="application/pdf")
    content = types.ModelContent([part(b"c"), types.Part(text="said")])
    drawing = await drawing_of({"rows": [[["x", part(b"a")]], (blob, 1)], "content": content})
    first, second, third = (
        {"mimeType": kind, "file": f"{drawing.prefix}-{number}{ending}", "version": 0}
        for number, kind, ending in [
            (1, "image/png", ".png"),
            (2, "application/pdf", ".pdf"),
            (3, "image/png", ".png"),
        ]
    )
    assert drawing.response == {"rows": [[["x", first]], [second, 1]], "content": [third, "said"]}
    data = [part.inline_data.data for part in drawing.shown() if part.inline_data]
    assert data == [b"a", b"%PDF", b"c"]


ADDRESS = "https://shop.example/tea.png"
LINK = types.Part.from_uri(file_uri=ADDRESS, mime_type="image/png")


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (types.Part(text="tea"), {"result": "tea"}),
        ([types.Part(text="tea"), "cup"], {"result": ["tea", "cup"]}),
        ({"link": LINK}, {"link": {"file_data": {"file_uri": ADDRESS, "mime_type": "image/png"}}}),
        (types.Part(), {}),
        (part(b""), {"mimeType": "image/png", "error": "The file is empty."}),
        (types.Blob(mime_type="a/b"), {"mimeType": "a/b", "error": "The file is empty."}),
    ],
)
async def test_a_part_without_data_becomes_its_text_or_its_fields(
    result: Any, response: dict[str, Any]
) -> None:
    drawing = await drawing_of(result)
    assert drawing.response == response and not drawing.delta and not drawing.shown()


@pytest.mark.parametrize(
    ("given", "name", "mime_type", "kept"),
    [
        ("tea.png", "tea.png", "image/png", "image/png"),
        ("../Größe/\0a.png", ".._Größe__a.png", "IMAGE/PNG; q=1", "image/png"),
        ("user:tea.png", "user_tea.png", "image/png", "image/png"),
        ("x" * 2000 + ".bin", "x" * 96 + ".bin", "x/y" * 100, "application/octet-stream"),
        ("tea", "tea", None, "application/octet-stream"),
    ],
)
async def test_names_and_types_are_made_valid(
    given: str, name: str, mime_type: str | None, kept: str
) -> None:
    drawing = await drawing_of({"picture": part(name=given, mime_type=mime_type)})
    assert drawing.response == {"picture": {"mimeType": kept, "file": name, "version": 0}}
    assert await drawing.saved(name) == types.Blob(data=PNG, mime_type=kept)
    assert any(part.inline_data for part in drawing.shown()) is (kept == "image/png")


async def test_files_of_a_name_are_versions_of_it() -> None:
    drawing = await drawing_of([part(b"a", name="tea.png"), part(b"b", name="tea.png")])
    assert [file["version"] for file in drawing.response["result"]] == [0, 1]
    assert [part.inline_data.data for part in drawing.shown() if part.inline_data] == [b"a", b"b"]


async def test_an_unknown_type_is_saved_and_not_shown() -> None:
    drawing = await drawing_of(part(mime_type="x-shop/x-tea"))
    name = f"{drawing.prefix}-1.bin"
    assert drawing.response == {"mimeType": "x-shop/x-tea", "file": name, "version": 0}
    assert drawing.shown() == []


async def test_big_files_are_shown_as_far_as_a_request_holds_them() -> None:
    drawing = await drawing_of([part(bytes(10_000_000)), part(bytes(10_000_000))])
    assert sorted(drawing.delta.values()) == [0, 0]
    sizes = [len(part.inline_data.data or b"") for part in drawing.shown() if part.inline_data]
    assert sizes == [10_000_000]
    assert "not shown here" in (drawing.shown()[-1].text or "")
    assert len(str(drawing.response)) < 300


@pytest.mark.parametrize("nested", ["deep", "in itself"])
async def test_a_result_that_is_no_json_is_refused_as_before(nested: str) -> None:
    result: list[Any] = [part()]
    if nested == "deep":
        for _ in range(100_000):
            result = [result]
    else:
        result.append(result)

    async def draw() -> Any:
        """Draw a picture."""
        return result

    with pytest.raises(ConfigurationError, match="Tool 'draw' returned a list that is not JSON"):
        await Conversation(agent_with(draw)).say("Draw!")


@pytest.mark.parametrize(("name", "version"), [("user:cat.png", 0), ("cat.png", -1), ("cat.png", 10**12)])
async def test_a_description_of_another_file_by_the_tool_is_not_followed(name: str, version: int) -> None:
    drawing = await drawing_of({"file": name, "version": version, "mimeType": "image/png"})
    assert drawing.shown() == []


async def test_without_an_artifact_service_the_data_stay_in_base64() -> None:
    def draw() -> types.Part:
        """Draw a picture."""
        return part()

    sessions = InMemorySessionService()
    runner = Runner(agent=agent_with(draw), app_name="shop", session_service=sessions)
    session = await sessions.create_session(app_name="shop", user_id="ada")
    message = types.UserContent("Draw!")
    events = [
        event async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=message)
    ]
    assert response_of(events[1]) == {"mimeType": "image/png", "data": "iVBORw=="}

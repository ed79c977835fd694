"""The tool `load_artifacts`: shows the session's files to the model (contract T9)."""

from typing import Any

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.sessions.state import State
from runtime.tools.function_tool import FunctionTool
from runtime.tools.sources import add_document, finds_sources
from runtime.tools.tool_context import ToolContext

_NAME = "load_artifacts"
_MODEL_INPUT_TYPES = ("image/", "audio/", "video/", "text/", "application/pdf")


@finds_sources
def load_artifacts(artifact_names: list[str]) -> dict[str, Any]:
    """Read files of this session; their contents are shown with the next request only.

    Args:
        artifact_names: The names of the files.
    """
    return {"artifact_names": artifact_names, "status": "The contents are shown below, this time only."}


class LoadArtifactsTool(FunctionTool):
    """Lists the session's files in the instruction, and appends files requested by the model to the contents.

    File contents are part of one request only and never stored in the session's events. The files that the model has
    seen are sources of its answer.
    """

    can_run_in_job = False

    def __init__(self) -> None:
        super().__init__(load_artifacts, title="Look at {artifact_names}")

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        names = await tool_context.list_artifacts()
        if not names:
            return
        listed = "\n".join(f"- {name}" for name in names)
        llm_request.append_instructions(
            [f"This session has these files:\n{listed}\nTo read a file, call `{_NAME}` with its name."]
        )
        # Only the latest call: files of earlier calls would make every further request larger.
        for response in llm_request.latest_responses(_NAME):
            for name in response.get("artifact_names", []):
                llm_request.contents.append(await _load_content(name, tool_context))


async def _load_content(name: str, tool_context: ToolContext) -> types.Content:
    artifact = await tool_context.load_artifact(name)
    if artifact is None:
        return _text_content(f"There is no file {name!r}.")
    part = _as_model_input(artifact)
    if part is None:
        return _text_content(f"The file {name!r} is binary data that cannot be shown.")
    add_document(tool_context, name.removeprefix(State.USER_PREFIX))
    return types.Content(role="user", parts=[types.Part(text=f"The file {name!r}:"), part])


def _text_content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def _as_model_input(artifact: types.Part) -> types.Part | None:
    """Return the part if models accept its type, its text if the data is UTF-8, else None."""
    blob = artifact.inline_data
    if blob is None or (blob.mime_type or "").startswith(_MODEL_INPUT_TYPES):
        return artifact
    try:
        return types.Part(text=(blob.data or b"").decode())
    except UnicodeDecodeError:
        return None


load_artifacts_tool = LoadArtifactsTool()

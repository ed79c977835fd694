"""An agent that keeps notes as versioned files and reads them back on request."""

from google.genai import types

from runtime.agents import LlmAgent
from runtime.tools import ToolContext, load_artifacts

MODEL = "gemini-2.5-flash"


async def write_note(filename: str, text: str, tool_context: ToolContext) -> dict[str, str | int]:
    """Writes a note into a file.

    Args:
        filename: The name of the file; with `user:` in front it is kept for all sessions of the person.
        text: What to write.
    """
    data = types.Part.from_bytes(data=text.encode(), mime_type="text/plain")
    version = await tool_context.save_artifact(filename=filename, artifact=data)
    tool_context.state["last_note"] = filename
    return {"filename": filename, "version": version}


async def list_notes(tool_context: ToolContext) -> list[str]:
    """Lists the files."""
    return await tool_context.list_artifacts()


root_agent = LlmAgent(
    name="note_keeper",
    model=MODEL,
    instruction="Keep the person's notes. The last one was {last_note?}.",
    tools=[write_note, list_notes, load_artifacts],
)

"""A reader of invoices: uploads become artifacts, the answer an object."""

from pydantic import BaseModel

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.plugins import SaveFilesAsArtifactsPlugin
from runtime.tools import load_artifacts

MODEL = "gemini-2.5-flash"


class Invoice(BaseModel):
    """An invoice."""

    sender: str
    amount: float
    lines: list[str] = []


app = App(
    name="invoices",
    root_agent=LlmAgent(
        name="reader",
        model=MODEL,
        instruction="Read the uploaded invoice with load_artifacts.",
        tools=[load_artifacts],
        output_schema=Invoice,
        output_key="invoice",
    ),
    plugins=[SaveFilesAsArtifactsPlugin()],
)

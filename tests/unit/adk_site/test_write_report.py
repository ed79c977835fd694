"""Contract: `write_report`, the job tool of the demo agents, saves three artifacts and returns a summary."""

from collections.abc import Iterator

import pytest

from adk_site.agents import write_report
from runtime import types
from sessions_app.jobs.api import AnswerRequired, current_job
from sessions_app.jobs.questions import JobQuestion


class RecordingJob:
    """Fake of the running job that records progress and artifacts."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float]] = []
        self.files: dict[str, types.Part] = {}

    def progress(self, done: float, total: float, message: str) -> None:
        self.steps.append((done, total))

    def save_artifact(self, filename: str, artifact: types.Part) -> int:
        self.files[filename] = artifact
        return 0

    def record_artifact(self, filename: str, version: int) -> None:
        raise AssertionError("The report saves its files by save_artifact.")

    def ask(self, question: JobQuestion) -> bool | str:
        raise AnswerRequired(question)


@pytest.fixture
def job() -> Iterator[RecordingJob]:
    recording = RecordingJob()
    token = current_job.set(recording)
    yield recording
    current_job.reset(token)


def test_saves_chart_table_and_page_and_returns_the_summary(job: RecordingJob) -> None:
    result = write_report.func(topic="returns", group_by="product")
    types_of = {name: part.inline_data and part.inline_data.mime_type for name, part in job.files.items()}
    assert types_of == {
        "returns-by-product.png": "image/png",
        "returns-by-product.csv": "text/csv",
        "returns-by-product.md": "text/markdown",
    }
    assert result["files"] == list(job.files)
    assert str(result["summary"]).startswith("**Returns by product, 2025**")
    assert len(job.steps) > 100


def test_a_precise_report_asks_for_approval_before_it_computes(job: RecordingJob) -> None:
    with pytest.raises(AnswerRequired, match="some minutes"):
        write_report.func(precise=True)
    assert job.steps == []


def test_is_declared_as_long_running_with_its_choices() -> None:
    declaration = write_report._get_declaration()
    assert write_report.is_long_running
    assert declaration.parameters is not None and declaration.parameters.properties is not None
    assert declaration.parameters.properties["topic"].enum == ["sales", "returns"]
    assert declaration.parameters.properties["group_by"].enum == ["region", "product", "month"]

"""Long-running tools, executed by Celery workers: a decorated function becomes a tool.

@job_tool
def write_report(topic: str) -> dict[str, object]:
    \"\"\"Description that the model reads.\"\"\"
    progress(1, 3, "Reading")
    ...
"""

from sessions_app.jobs.api import JobError, ask, confirm, progress, save_artifact
from sessions_app.jobs.as_job import as_job
from sessions_app.jobs.tool import JobTool, job_tool

__all__ = ["JobError", "JobTool", "as_job", "ask", "confirm", "job_tool", "progress", "save_artifact"]

"""Long-running tools, executed by Celery workers: a decorated function becomes a tool.

@job_tool
def write_report(topic: str) -> dict[str, object]:
    \"\"\"Description that the model reads.\"\"\"
    progress(1, 3, "Reading")
    ...

`job_tool` (tool.py) makes a Celery task of one function. `as_job` (as_job.py) lets any tool run in a worker, which
finds the tool again in its agent (run_tool.py). Both stage a row (staging.py). A worker claims the row, runs the call
and ends the row (run.py), writes progress meanwhile (report.py), and answers the call (response.py).
"""

from sessions_app.jobs.api import JobError, ask, confirm, progress, save_artifact
from sessions_app.jobs.as_job import as_job
from sessions_app.jobs.tool import JobTool, job_tool

__all__ = ["JobError", "JobTool", "as_job", "ask", "confirm", "job_tool", "progress", "save_artifact"]

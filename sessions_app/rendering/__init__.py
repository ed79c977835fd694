"""HTML of events, jobs, scheduled tasks and Markdown. Pages and websocket frames use the same functions."""

from sessions_app.rendering.html import render_event, render_job, render_schedule
from sessions_app.rendering.markdown import render_markdown

__all__ = ["render_event", "render_job", "render_markdown", "render_schedule"]

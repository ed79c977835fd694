"""What a browser shows: markdown, one event, one job as HTML. Pages and websocket frames use the same functions."""

from sessions_app.rendering.html import render_event, render_job
from sessions_app.rendering.markdown import render_markdown

__all__ = ["render_event", "render_job", "render_markdown"]

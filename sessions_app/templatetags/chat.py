"""Template filters of the chat pages."""

from django import template
from django.utils.safestring import SafeString

from sessions_app.models import ToolJob
from sessions_app.rendering import render_job, render_markdown
from sessions_app.rendering.outline import label

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Render Markdown as sanitised HTML."""
    return render_markdown(text)


@register.filter
def job_card(job: ToolJob) -> SafeString:
    """Render the card of a job."""
    return render_job(job)


@register.filter
def as_words(name: str) -> str:
    """Return an identifier as words: `help_desk` becomes "Help desk"."""
    return label(name)

"""Template filters of the chat pages."""

from django import template
from django.templatetags.static import static
from django.utils.safestring import SafeString

from sessions_app.conf import conf
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


@register.simple_tag
def site_name() -> str:
    """Return the name of the site."""
    return conf().site_name


@register.simple_tag
def has_share_links() -> bool:
    """Return True when people can share their chats."""
    return conf().share_links


@register.simple_tag
def site_logo() -> str:
    """Return the address of the site's logo; empty without one."""
    return static(conf().site_logo) if conf().site_logo else ""

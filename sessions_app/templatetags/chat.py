"""Template filters and tags of the chat pages."""

from collections.abc import Sequence

from django import template
from django.template import Context
from django.templatetags.static import static
from django.urls import get_script_prefix
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language_info, gettext

from sessions_app.base import languages
from sessions_app.conf import conf
from sessions_app.models import Session
from sessions_app.rendering.faces import app_face, face_mark, named, signatures
from sessions_app.rendering.hidden_characters import escape_hidden, mark_hidden, strip_bidi_controls
from sessions_app.rendering.html import render_job, render_schedule
from sessions_app.rendering.markdown.citations import Citation
from sessions_app.rendering.markdown.render import is_long_cell, render_markdown
from sessions_app.rendering.outline import as_words
from sessions_app.rendering.sentences import in_language

register = template.Library()
DAYS_OF_WEEK = 7
register.filter(as_words)
register.filter(escape_hidden)
register.filter(in_language)
register.filter(is_long_cell)
register.filter(mark_hidden)
register.filter(named)
register.filter(strip_bidi_controls)
register.filter("job_card", render_job)
register.filter("schedule_card", render_schedule)
register.simple_tag(get_script_prefix, name="script_prefix")
register.simple_tag(signatures)


@register.filter
def app_label(app_name: str) -> str:
    """Return the name by which people know an app."""
    return app_face(app_name).name


@register.filter
def app_mark(app_name: str) -> SafeString:
    """Return the picture or the initial of an app."""
    return face_mark(app_face(app_name))


@register.filter
def markdown(text: str, citations: Sequence[Citation] = ()) -> SafeString:
    """Render Markdown as sanitised HTML, with references to its sources."""
    return render_markdown(text, citations)


@register.filter
def group_heading(session: Session) -> str:
    """Return the heading of the session's group in the list, by the reader's calendar and in the reader's language."""
    if session.is_pinned and session.archived_at is None:
        return gettext("Pinned")
    day = timezone.localdate(session.updated_at)
    days = (timezone.localdate() - day).days
    if days <= 0:  # negative if the clock of PostgreSQL is ahead around midnight
        return gettext("Today")
    if days == 1:
        return gettext("Yesterday")
    if days <= DAYS_OF_WEEK:
        return gettext("Previous 7 days")
    return date_format(day, "YEAR_MONTH_FORMAT")


@register.simple_tag
def site_name() -> str:
    return conf().site_name


@register.simple_tag
def site_description() -> str:
    """Return the sentence that says what the site is, in the active language; empty for none."""
    description = conf().site_description
    if description is None:
        return gettext("Agents that answer questions and do work for you.")
    # The translation of an empty text is the header of the catalogue.
    if not description:
        return ""
    return gettext(description)


@register.simple_tag
def has_share_links() -> bool:
    """True if users can share their chats."""
    return conf().share_links


@register.simple_tag
def site_logo() -> str:
    """Return the address of the site's logo; empty without a logo."""
    logo = conf().site_logo
    if not logo:
        return ""
    return static(logo)


@register.simple_tag(takes_context=True)
def root_attributes(context: Context) -> SafeString:
    """Return language, text direction, theme and chosen time zone as attributes of the page's root element."""
    code = languages.shown_language()
    direction = "rtl" if get_language_info(code)["bidi"] else "ltr"
    attributes = format_html('lang="{}" dir="{}" data-theme="{}"', code, direction, chosen_theme(context))
    if zone := languages.chosen_time_zone(_cookies(context)):
        attributes = format_html('{} data-time-zone="{}"', attributes, zone)
    return attributes


@register.simple_tag(takes_context=True)
def color_scheme(context: Context) -> str:
    """Return the colour schemes that the page may have."""
    theme = chosen_theme(context)
    if theme == "system":
        return "light dark"
    return theme


@register.simple_tag(takes_context=True)
def chosen_theme(context: Context) -> str:
    """Return the chosen theme; `system` on pages without a request, such as the page of an internal error."""
    return languages.chosen_theme(_cookies(context))


def _cookies(context: Context) -> dict[str, str]:
    request = context.get("request")
    return request.COOKIES if request else {}


@register.simple_tag
def offered_languages() -> list[dict[str, object]]:
    """Return the languages to choose from, each with its own name; empty if there is only one language."""
    codes = languages.offered_languages()
    if len(codes) < 2:
        return []
    shown = languages.shown_language()
    return [
        {"code": code, "name": get_language_info(code)["name_local"], "is_chosen": code == shown}
        for code in codes
    ]


@register.simple_tag
def sentences_script() -> str:
    """Return the address of the script with the translated sentences of other scripts; empty for English."""
    code = languages.shown_language()
    if code == "en":
        return ""
    return static(f"sessions_app/sentences/{code}.js")

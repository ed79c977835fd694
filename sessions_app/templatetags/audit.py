"""Template filters and tags of the audit pages."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django import template
from django.template import Context
from django.template.loader import get_template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.rendering.audit_values import format_beginning, format_json
from sessions_app.rendering.once_filter import once
from sessions_app.secrets.masking import mask_text

if TYPE_CHECKING:  # A project may have no admin, and Django imports all template tags nevertheless.
    from sessions_app.admin.session.timeline.timeline import TimelineEntry

logger = logging.getLogger(__name__)
logger.addFilter(once)
register = template.Library()
register.filter("audit_json", format_json)
FOLDER = "admin/sessions_app/session"


@register.filter
def masked(value: object) -> str:
    """Return the value as masked text. Apply this filter before cutting a text: half of a secret is not recognised."""
    return mask_text(str(value))


@register.filter
def pairs(values: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return names and values. In a template, `values.items` would be the value of a key `items`."""
    return list(values.items())


@register.filter
def indented_json(text: str) -> str:
    """Return a JSON text indented; it may be cut anywhere. The text is not escaped."""
    return format_beginning(text, len(text))


@register.simple_tag
def audit_link(url: str, text: object) -> SafeString:
    """Render a link; only the text if `url` is empty, for users who may not open the page."""
    return format_html('<a href="{}">{}</a>', url, text) if url else format_html("{}", text)


@register.simple_tag(takes_context=True)
def audit_row(
    context: Context, entry: "TimelineEntry", template_name: str, is_part: bool = False
) -> SafeString:
    """Render an event of the timeline; a row with a sentence if the event cannot be shown.

    Args:
        template_name: name of a template in `FOLDER`, without its ending.
        is_part: True for an event within the entry of a call.
    """
    values = {"event": entry.event, "row": entry.row, "entry": entry, "is_part": is_part}
    if entry.row is not None:
        try:
            return _render(f"{FOLDER}/{template_name}.html", context, values)
        except Exception:  # One odd event must not take down the page.
            event = entry.event
            logger.exception(
                "Event %s of session %s cannot be shown in the admin",
                event.seq,
                event.session_id,
                extra={"session_id": str(event.session_id)},
            )
    return _render(f"{FOLDER}/_event_unreadable.html", context, values)


def _render(name: str, context: Context, values: Mapping[str, object]) -> SafeString:
    with context.push(**values):
        return get_template(name).template.render(context)  # type: ignore[attr-defined, no-any-return]

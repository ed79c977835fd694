"""Template filters of the audit pages."""

from django import template

from sessions_app.admin.formatting import pretty, shown

register = template.Library()


@register.filter
def audit_json(value: object) -> str:
    """A JSON value, indented; of a very long one the beginning. Plain text, to be escaped."""
    return shown(pretty(value))

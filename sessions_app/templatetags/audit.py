"""Template filters of the audit pages."""

from django import template

from sessions_app.admin.formatting import format_json, truncate

register = template.Library()


@register.filter
def audit_json(value: object) -> str:
    """Return the value as indented JSON, truncated when it is very long; unescaped plain text."""
    return truncate(format_json(value))

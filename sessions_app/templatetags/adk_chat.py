"""Template tag to embed the chat with an app in any page of the site, in the page or behind a button."""

from django import template

register = template.Library()


@register.inclusion_tag("chat/embed.html")
def adk_chat(app: str, bubble: bool = False) -> dict[str, object]:
    """Embed the chat with `app`. With `bubble` it opens by a button in the corner of the page."""
    return {"app": app, "bubble": bubble}

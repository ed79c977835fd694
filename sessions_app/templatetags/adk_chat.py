"""Template tag for any page of the site: the chat with an app, in the page or as a bubble in its corner."""

from django import template

register = template.Library()


@register.inclusion_tag("chat/embed.html")
def adk_chat(app: str, bubble: bool = False) -> dict[str, object]:
    """Return the context of the element that shows the chat. `bubble` puts it behind a button in the corner."""
    return {"app": app, "bubble": bubble}

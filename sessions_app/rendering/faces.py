"""Faces of agents as people see them: a name, beside it a picture or an initial in the agent's colour."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from sessions_app.agent_apps import registry
from sessions_app.agent_apps.loading.faces import MAX_NAME_LENGTH, Face
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.outline import as_words
from sessions_app.secrets.masking import shortened

logger = logging.getLogger(__name__)
logger.addFilter(once)


def face_of(app_name: str, agent_name: str) -> Face:
    """Return the face of an agent with its name; without a declared face, the agent's name as words. Never raises."""
    return _with_name(_declared(app_name).get(agent_name, Face()), agent_name)


def app_face(app_name: str) -> Face:
    """Return the face of the app's root agent; without a declared name, the app's name as words. Never raises."""
    declared = _declared(app_name)
    root = registry.apps()[app_name].root_agent.name if declared else ""
    return _with_name(declared.get(root, Face()), app_name)


def signature(face: Face) -> SafeString:
    """Return the name of an author, behind the mark of a face that has a colour or a picture."""
    return format_html('{}<span class="author" dir="auto">{}</span>', _own_mark(face), face.name)


def named(face: Face) -> SafeString:
    """Return the name of an agent within a sentence, like `signature`."""
    return format_html("<bdi>{}{}</bdi>", _own_mark(face), face.name)


def face_mark(face: Face) -> SafeString:
    """Return the picture or the initial of a face."""
    if face.picture:
        try:
            return format_html('<img class="face" src="{}" alt="">', static(face.picture))
        except ValueError:  # A storage with hashed names knows no such file.
            logger.exception("The picture %r is not among the static files", face.picture)
    # The initial is no text: it is neither read aloud nor copied.
    return format_html(
        '<span class="face {}" data-initial="{}" aria-hidden="true"></span>',
        face.color,
        face.name[:1].upper(),
    )


def signatures(app_name: str) -> list[tuple[str, SafeString]]:
    """Return the names and signatures of the agents with a declared face."""
    # No dict: its `items` is an agent's face in a template, if an agent has this name.
    return [(name, signature(face_of(app_name, name))) for name in _declared(app_name)]


def _own_mark(face: Face) -> str:
    return face_mark(face) if face.color or face.picture else ""


def _with_name(face: Face, name: str) -> Face:
    shown = gettext(face.name) if face.name else as_words(name)
    if len(shown) > MAX_NAME_LENGTH:
        # A translation, too, may be longer than what `replace` accepts.
        shown = shortened(shown, MAX_NAME_LENGTH - 1)
    return replace(face, name=shown)


def _declared(app_name: str) -> Mapping[str, Face]:
    try:
        return registry.faces(app_name)
    except Exception:  # An agents.py may raise anything.
        logger.exception("The agents cannot be loaded")
        return {}

"""Skills in a text for a model."""

from collections.abc import Iterable
from html import escape

from runtime.skills.models import Frontmatter, Skill


def format_skills_as_xml(skills: Iterable[Frontmatter | Skill]) -> str:
    """Return names and descriptions as XML."""
    lines = ["<available_skills>"]
    for skill in skills:
        lines += ["<skill>", "<name>", escape(skill.name), "</name>"]
        lines += ["<description>", escape(skill.description), "</description>", "</skill>"]
    return "\n".join([*lines, "</available_skills>"])

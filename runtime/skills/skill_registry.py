"""The contract of a registry of skills."""

import abc

from runtime.skills.models import Frontmatter, Skill


class SkillRegistry(abc.ABC):
    """A place with more skills than an agent can name: the model searches it, and loads what it finds."""

    @abc.abstractmethod
    async def get_skill(self, *, name: str) -> Skill:
        """Return a skill. Raise any exception if there is none."""

    @abc.abstractmethod
    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        """Return the skills that fit the query of a model."""

    def search_tool_description(self) -> str | None:
        """Return a description of the tool that searches; None for the usual description."""
        return None

"""Skills: folders with instructions, files and scripts that a model reads when it needs them (https://agentskills.io)."""

from runtime.skills.load import (
    list_skills_in_dir,
    list_skills_in_dir_async,
    load_skill_from_dir,
    load_skill_from_dir_async,
    load_skills_from_dir,
    load_skills_from_dir_async,
)
from runtime.skills.models import Frontmatter, Resources, Script, Skill
from runtime.skills.skill_registry import SkillRegistry

__all__ = [
    "Frontmatter",
    "Resources",
    "Script",
    "Skill",
    "SkillRegistry",
    "list_skills_in_dir",
    "list_skills_in_dir_async",
    "load_skill_from_dir",
    "load_skill_from_dir_async",
    "load_skills_from_dir",
    "load_skills_from_dir_async",
]

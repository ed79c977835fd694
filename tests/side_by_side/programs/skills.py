"""Skills: their models, and a model that reads them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from runtime.agents import LlmAgent
from runtime.skills import (
    Frontmatter,
    Resources,
    Script,
    Skill,
    list_skills_in_dir,
    load_skill_from_dir,
    load_skills_from_dir,
)
from runtime.skills.prompt import format_skills_as_xml
from runtime.tools.skill_toolset import SkillDiscoveryMode, SkillToolset
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import World, call

SKILL = Skill(
    frontmatter=Frontmatter(
        name="invoices", description="Adds up <invoices>.", metadata={"version": "1"}, compatibility="any"
    ),
    instructions="Read references/rules.md.",
    resources=Resources(
        references={"rules.md": "Round up."}, assets={"a.csv": "1,2"}, scripts={"a.sh": Script(src="ls")}
    ),
)
FILES = {
    "invoices/SKILL.md": "---\nname: invoices\ndescription: >\n  Adds up\n  invoices.\nallowed-tools: a b\n"
    "license: MIT\nauthor: Ada\n---\n\n# Invoices\n\nAdd.\n",
    "invoices/references/more/rules.md": "Round up.",
    "invoices/assets/logo.bin": "\x00\x01",
    "invoices/scripts/add.py": "print(1)",
    "notes/README.md": "No skill.",
}
BROKEN = {
    "upper": "---\nname: Upper\ndescription: a\n---\n",
    "other": "---\nname: another\ndescription: a\n---\n",
    "long": f"---\nname: long\ndescription: {'a' * 1025}\n---\n",
    "bare": "No front matter.",
    "open": "---\nname: open\ndescription: a\n",
    "yaml": "---\nname: [\n---\n",
    "tools": "---\nname: tools\ndescription: a\nmetadata: {adk_additional_tools: pay}\n---\n",
}


def write(folder: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def dumped(skill: Skill) -> dict[str, Any]:
    resources = skill.resources
    return {
        "frontmatter": skill.frontmatter.model_dump(mode="json", by_alias=True),
        "instructions": skill.instructions,
        "references": resources.references,
        "assets": resources.list_assets(),
        "scripts": {name: str(resources.get_script(name)) for name in resources.list_scripts()},
    }


@program
async def a_folder_of_skills_is_read(world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(folder, FILES)
        world.note(loaded=dumped(load_skill_from_dir(Path(folder, "invoices"))))
        world.note(names=[skill.name for skill in load_skills_from_dir(folder)])
        listed = list_skills_in_dir(folder, lambda name, error: world.note(skipped=name))
        world.note(listed=list(listed), xml=format_skills_as_xml(listed.values()))


@program
async def broken_skills_are_refused(world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(folder, {f"{name}/SKILL.md": text for name, text in BROKEN.items()})
        for name in BROKEN:
            try:
                load_skill_from_dir(Path(folder, name))
            except ValueError:
                world.note(refused=name)


@program
async def a_missing_skill_is_not_found(world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("none", "."):
            try:
                load_skill_from_dir(Path(folder, name))
            except FileNotFoundError:
                world.note(missing=name)


# Not `list_skills`: google-adk declares an empty object of parameters for it.
EAGER = SkillToolset([SKILL], discovery_mode=SkillDiscoveryMode.EAGER)


def code_of(tool: Any, args: dict[str, Any], tool_context: Any, tool_response: Any) -> Any:
    """Keep of an error only its code: each package has words of its own."""
    code = tool_response.get("error_code") if isinstance(tool_response, dict) else None
    return {"error_code": code} if code else None


async def play(world: World, toolset: SkillToolset, *calls: Any) -> None:
    model = world.model(*calls, "Done.")
    await world.play(LlmAgent(name="clerk", model=model, tools=[toolset], after_tool_callback=code_of), "Go")


@program
async def a_model_reads_files_of_a_skill(world: World) -> None:
    await play(
        world,
        EAGER,
        call("load_skill_resource", skill_name="invoices", file_path="references/rules.md"),
        call("load_skill_resource", skill_name="invoices", file_path="assets/a.csv"),
        call("load_skill_resource", skill_name="invoices", file_path="scripts/a.sh"),
        call("load_skill", skill_name="recipes"),
        call("load_skill_resource", skill_name="invoices", file_path="references/../SKILL.md"),
    )


@program
async def skills_in_the_instruction(world: World) -> None:
    toolset = SkillToolset([SKILL], discovery_mode=SkillDiscoveryMode.EAGER, tool_name_prefix="our")
    await play(world, toolset, call("our_load_skill", skill_name="recipes"))


@differing_program("The state names only the tools that a skill has brought", only_in=("sessions", "events"))
async def a_model_loads_a_skill(world: World) -> None:
    await play(world, EAGER, call("load_skill", skill_name="invoices"))

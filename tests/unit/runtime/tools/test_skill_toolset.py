"""Contract T9: a model finds skills, reads them with their files, and runs their scripts in a restricted process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.config_agent_utils import from_config
from runtime.agents.tree import answered_by_of_tool
from runtime.code_executors import RestrictedCodeExecutor, confinement
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models import LlmRequest
from runtime.models.base_llm import SetupProblem
from runtime.skills import Frontmatter, Resources, Skill, SkillRegistry, load_skill_from_dir
from runtime.skills.models import Script
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.function_tool import FunctionTool
from runtime.tools.long_running_tool import LongRunningFunctionTool
from runtime.tools.skill_toolset import MAX_TEXT_CHARACTERS, SkillDiscoveryMode, SkillToolset
from tests.fakes import ScriptedModel, call, requests_of
from tests.unit.runtime.conversation import Conversation

isolated = pytest.mark.skipif(confinement.missing_protection() is not None, reason="no isolation here")
SKILL_MD = """---
name: invoices
description: Adds up invoices.
{more}---
Read references/rules.md, then run scripts/add.py.
"""
RUN = "run_skill_script"
RESOURCE = "load_skill_resource"


def write_skill(folder: Path, *, more: str = "", **files: str) -> Path:
    """Write a skill; `scripts__add_py` names scripts/add.py."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL_MD.format(more=more))
    for name, text in files.items():
        kind, _, file = name.partition("__")
        (folder / kind).mkdir(exist_ok=True)
        (folder / kind / file.replace("_py", ".py").replace("_md", ".md")).write_text(text)
    return folder


async def responses(toolset: SkillToolset, *calls: Any, **fields: Any) -> list[dict[str, Any]]:
    """Return the responses to the calls of a model, which makes each of them in a step of its own."""
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=[*calls, "Done."]), tools=[toolset], **fields)
    events = await Conversation(agent).say("Go")
    found = [response.response for event in events for response in event.get_function_responses()]
    return [response or {} for response in found]


def declared(request: LlmRequest) -> list[str | None]:
    return [
        declaration.name
        for tool in request.config.tools or []
        if isinstance(tool, types.Tool)
        for declaration in tool.function_declarations or []
    ]


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    scripts = {
        "scripts__add_py": "import sys\nimport numbers_of\n"
        "print(sum(numbers_of.read(sys.argv[1:])), open('references/rules.md').read())",
        "scripts__numbers_of_py": "def read(texts):\n    return [int(text) for text in texts]",
        "scripts__etc_py": "print(open('/etc/passwd').read())",
        "scripts__net_py": "import socket\nsocket.create_connection(('127.0.0.1', 80))",
        "scripts__wait_py": "import time\ntime.sleep(60)\nprint('ended')",
        "scripts__fail_py": "import sys\nsys.exit('No invoices.')",
    }
    return load_skill_from_dir(
        write_skill(tmp_path / "invoices", references__rules_md="Round up.", **scripts)
    )


async def test_a_model_lists_and_reads_a_skill_and_its_files(skill: Skill) -> None:
    listed, loaded, resource = await responses(
        SkillToolset([skill]),
        call("list_skills"),
        call("load_skill", skill_name="invoices"),
        call(RESOURCE, skill_name="invoices", file_path="references/rules.md"),
    )
    assert "<name>\ninvoices\n</name>\n<description>\nAdds up invoices.\n</description>" in listed["result"]
    assert loaded["instructions"] == "Read references/rules.md, then run scripts/add.py."
    assert loaded["frontmatter"]["description"] == "Adds up invoices."
    assert resource == {
        "skill_name": "invoices",
        "file_path": "references/rules.md",
        "content": "Round up.",
    }


@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "/etc/passwd", "SKILL.md", "references/\0", "rules.md"]
)
async def test_other_files_are_not_found(skill: Skill, path: str) -> None:
    (answer,) = await responses(SkillToolset([skill]), call(RESOURCE, skill_name="invoices", file_path=path))
    assert answer["error_code"] == "RESOURCE_NOT_FOUND"
    assert "The skill has: references/rules.md, scripts/add.py" in answer["error"]


async def test_an_unknown_skill_is_answered_with_the_known_names(skill: Skill) -> None:
    (answer,) = await responses(SkillToolset([skill]), call("load_skill", skill_name="recipes"))
    assert answer == {
        "error": "Skill 'recipes' not found. The skills are: invoices.",
        "error_code": "SKILL_NOT_FOUND",
    }


async def test_a_picture_is_shown_to_the_model_and_other_bytes_are_refused(skill: Skill) -> None:
    assets: dict[str, str | bytes] = {
        "logo.png": b"\x89PNG\0",
        "data.bin": b"\0\1",
        "long.csv": "1," * 60_000,
    }
    skill.resources = Resources(assets=assets)
    calls = [call(RESOURCE, skill_name="invoices", file_path=f"assets/{name}") for name in assets]
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(turns=[*calls, "Done."]), tools=[SkillToolset([skill])]
    )
    events = await Conversation(agent).say("Go")
    picture, data, text = [
        response.response or {} for event in events for response in event.get_function_responses()
    ]
    assert picture["content"]["mimeType"] == "image/png"
    blobs = [part.inline_data for content in requests_of(agent)[1].contents for part in content.parts or []]
    assert [blob.data for blob in blobs if blob] == [b"\x89PNG\0"]
    assert data["error"] == "'assets/data.bin' is no text, image or PDF. A script can read it."
    assert f"{120_000:,} characters" in text["error"] and 120_000 > MAX_TEXT_CHARACTERS


@isolated
async def test_a_script_runs_among_the_files_of_its_skill(skill: Skill) -> None:
    toolset = SkillToolset([skill], code_executor=RestrictedCodeExecutor())
    added, failed = await responses(
        toolset,
        call(RUN, skill_name="invoices", file_path="scripts/add.py", args=["1", "2"]),
        call(RUN, skill_name="invoices", file_path="fail.py"),
    )
    assert added == {
        "skill_name": "invoices",
        "file_path": "scripts/add.py",
        "stdout": "3 Round up.\n",
        "stderr": "",
        "status": "success",
    }
    assert (failed["status"], failed["stderr"]) == ("error", "No invoices.\n")


@isolated
@pytest.mark.parametrize(
    ("script", "limits", "reason"),
    [
        ("etc.py", {}, "PermissionError"),
        ("net.py", {}, "PermissionError"),
        ("wait.py", {"script_timeout": 1}, "Code execution timed out after 1 s."),
    ],
)
async def test_a_script_that_does_what_it_must_not_is_stopped(
    skill: Skill, script: str, limits: dict[str, Any], reason: str
) -> None:
    toolset = SkillToolset([skill], code_executor=RestrictedCodeExecutor(), **limits)
    (answer,) = await responses(toolset, call(RUN, skill_name="invoices", file_path=f"scripts/{script}"))
    assert (answer["status"], answer["stdout"]) == ("error", "")
    assert reason in answer["stderr"]


async def test_without_an_executor_scripts_are_read_only(skill: Skill) -> None:
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]), tools=[SkillToolset([skill])])
    await Conversation(agent).say("Go")
    (request,) = requests_of(agent)
    assert declared(request) == ["list_skills", "load_skill", RESOURCE]
    assert "Its scripts cannot be run here" in str(request.config.system_instruction)
    tool = next(tool for tool in await SkillToolset([skill]).get_tools() if tool.name == RUN)
    assert tool._get_declaration() is not None


@isolated
async def test_the_executor_of_the_agent_runs_scripts(skill: Skill) -> None:
    (answer,) = await responses(
        SkillToolset([skill]),
        call(RUN, skill_name="invoices", file_path="scripts/add.py", args={"7": "8"}),
        code_executor=RestrictedCodeExecutor(),
    )
    assert "invalid literal for int() with base 10: '--7'" in answer["stderr"]


async def test_scripts_of_other_kinds_are_refused_in_words(skill: Skill) -> None:
    skill.resources = Resources(scripts={"a.sh": Script(src="ls")})
    toolset = SkillToolset([skill], code_executor=RestrictedCodeExecutor(require_isolation=False))
    shell, missing = await responses(
        toolset,
        call(RUN, skill_name="invoices", file_path="scripts/a.sh"),
        call(RUN, skill_name="invoices", file_path="scripts/b.py"),
    )
    assert shell["error"] == "'scripts/a.sh' is no Python script, and only these can be run."
    assert missing["error"] == "Script 'scripts/b.py' not found. The skill has: scripts/a.sh."


def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"


async def test_a_skill_brings_tools_and_values_of_the_state(tmp_path: Path) -> None:
    more = "metadata:\n  adk_additional_tools: [pay]\n  adk_inject_state: true\n"
    folder = write_skill(tmp_path / "invoices", more=more)
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "Pay in {currency}.")
    toolset = SkillToolset([load_skill_from_dir(folder)], additional_tools=[pay], tool_name_prefix="our")
    turns = [call("our_load_skill", skill_name="invoices"), call("our_pay", euros=5), "Paid."]
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=turns), tools=[toolset])
    events = await Conversation(agent, state={"currency": "EUR"}).say("Go")
    loaded, paid = [
        response.response or {} for event in events for response in event.get_function_responses()
    ]
    assert loaded["instructions"].endswith("Pay in EUR.")
    assert paid == {"result": "paid 5"}
    first, second, _ = requests_of(agent)
    assert "our_pay" not in declared(first) and "our_pay" in declared(second)
    assert "`our_load_skill`" in str(first.config.system_instruction)


class Pumps(BaseToolset):
    """Toolset of a server that may be away."""

    times_asked = 0
    is_closed = False

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        self.times_asked += 1
        key = FunctionTool(unlock)
        key.stands_for_others = True
        return [LongRunningFunctionTool(pump, answered_by="person"), key, FunctionTool(drain)]

    def setup_problems(self) -> list[SetupProblem]:
        return [SetupProblem("The server is forbidden", "Allow it.")]

    async def close(self) -> None:
        self.is_closed = True


def pump() -> None:
    """Pump."""


def drain() -> None:
    """Drain."""


def unlock() -> None:
    """Unlock."""


async def test_a_toolset_of_skills_is_asked_for_its_tools_after_a_skill_names_them(tmp_path: Path) -> None:
    more = "metadata:\n  adk_additional_tools: [pump]\n"
    skill = load_skill_from_dir(write_skill(tmp_path / "invoices", more=more))
    pumps = Pumps()
    toolset = SkillToolset([skill], additional_tools=[pumps], tool_filter=["load_skill", "pump", "drain"])
    asked = []

    async def note(callback_context: Context, llm_request: LlmRequest) -> None:
        asked.append(pumps.times_asked)

    turns = ["Hello.", call("load_skill", skill_name="invoices"), call("pump")]
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(turns=turns), tools=[toolset], before_model_callback=note
    )
    conversation = Conversation(agent)
    await conversation.say("Hello")
    await conversation.say("Go")
    assert asked == [0, 0, 1]
    offered = declared(requests_of(agent)[-1])
    assert "pump" in offered and "unlock" in offered and "drain" not in offered
    assert await answered_by_of_tool(agent, "clerk", "pump") == "person"
    assert toolset.setup_problems() == pumps.setup_problems()
    await toolset.close()
    assert pumps.is_closed


async def test_eager_skills_are_in_the_instruction(skill: Skill) -> None:
    toolset = SkillToolset([skill], discovery_mode=SkillDiscoveryMode.EAGER)
    agent = LlmAgent(name="clerk", model=ScriptedModel(turns=["Hello."]), tools=[toolset])
    await Conversation(agent).say("Go")
    (request,) = requests_of(agent)
    assert "<name>\ninvoices\n</name>" in str(request.config.system_instruction)
    assert "list_skills" not in declared(request)


class Registry(SkillRegistry):
    """Registry that knows one skill and fails for others."""

    async def get_skill(self, *, name: str) -> Skill:
        if name != "recipes":
            raise RuntimeError("secret of the registry")
        return Skill(frontmatter=Frontmatter(name=name, description="Cooks."), instructions="Boil.")

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        return [Frontmatter(name=name, description="Cooks.") for name in ("recipes", "invoices")]


async def test_a_registry_is_searched_and_its_errors_stay_in_the_log(skill: Skill) -> None:
    found, loaded, failed = await responses(
        SkillToolset([skill], registry=Registry()),
        call("search_skills", query="soup"),
        call("load_skill", skill_name="recipes"),
        call("load_skill", skill_name="others"),
    )
    assert [item["name"] for item in found["result"]] == ["recipes"]
    assert loaded["instructions"] == "Boil."
    assert failed == {"error": "The registry gave no skill 'others'.", "error_code": "REGISTRY_ERROR"}


def test_two_skills_with_one_name_are_refused(skill: Skill) -> None:
    with pytest.raises(ConfigurationError, match=r"Two skills are called 'invoices'\."):
        SkillToolset([skill, skill])


async def test_an_agent_in_yaml_names_a_folder_of_skills(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills" / "invoices")
    write_skill(tmp_path.parent / "others" / "invoices")
    file = tmp_path / "root_agent.yaml"
    text = "name: clerk\ntools:\n  - name: runtime.tools.skill_toolset.SkillToolset\n    args:\n      {}\n"
    file.write_text(text.format("skills_dir: skills"))
    agent = from_config(file)
    assert isinstance(agent, LlmAgent)
    (toolset,) = agent.tools
    assert isinstance(toolset, SkillToolset)
    assert [found.name for found in toolset.skills] == ["invoices"]
    file.write_text(text.format("skills_dir: ../others"))
    with pytest.raises(ConfigurationError, match="is outside of"):
        from_config(file)

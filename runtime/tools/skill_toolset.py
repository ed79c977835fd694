"""SkillToolset: the model finds skills, reads them, and runs their scripts (contract T9).

The model gets no more of a skill than it asks for: names and descriptions first, then the instructions by
`load_skill`, then single files. A skill that was read may bring further tools: their names are kept in the session's
state, so they are still offered in later turns and by other processes. A script runs in the code executor, which knows
nothing of skills: the code it gets unpacks the skill's files and runs one of them.
"""

import base64
import json
import logging
import mimetypes
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

from runtime import types
from runtime.artifacts.referenced_artifacts import is_shown
from runtime.code_executors import BaseCodeExecutor, BuiltInCodeExecutor, CodeExecutionInput
from runtime.context import Context, ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.models.base_llm import SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.skills.load import load_skills_from_dir
from runtime.skills.models import INJECT_STATE, Skill
from runtime.skills.prompt import format_skills_as_xml
from runtime.skills.skill_registry import SkillRegistry
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset, ToolPredicate
from runtime.tools.function_tool import FunctionTool
from runtime.tools.tool_configs import ToolArgsConfig
from runtime.tools.tool_context import ToolContext
from runtime.utils.instructions_utils import inject_session_state

logger = logging.getLogger(__name__)

MAX_TEXT_CHARACTERS = 100_000
"""Longest file that the model may read; a script can use longer files."""
_MAX_NAMED_FILES = 50
_STATE_KEY = "_adk_skill_tools.{agent}.{skill}"
"""State with the names of the tools that a skill gave to an agent. A key for each skill: two may be read at once."""

DEFAULT_SKILL_SYSTEM_INSTRUCTION = """\
You have skills: instructions of experts for certain tasks, with files and scripts. When a skill fits the task, read \
it with `load_skill` before you begin, and follow it. It names the files that `load_skill_resource` reads, such as \
`references/details.md`. Reading a skill is not yet an answer: go on with its steps."""
_FIND = "`list_skills` tells which skills there are."
_SEARCH = "`search_skills` finds more."
_RUN = "`run_skill_script` runs its scripts. Do not call a script again that failed unless you can mend its arguments."
_RUN_NOT = "Its scripts cannot be run here; read them with `load_skill_resource` where you need them."

# Copies the files of the skill below the working directory, which is empty, and runs the script there.
_SCRIPT_RUNNER = """\
import base64, json, os, runpy, sys
given = json.loads({given!r})
for path, data in given["files"].items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(base64.b64decode(data))
sys.argv = given["argv"]
sys.path.insert(0, os.path.abspath(os.path.dirname(sys.argv[0])))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class SkillDiscoveryMode(Enum):
    """Way in which the model learns of the skills: from `list_skills`, or from the instruction."""

    LAZY = "lazy"
    EAGER = "eager"


class SkillToolset(BaseToolset):
    """Tools with which a model lists, reads and uses skills.

    Args:
        skills: the skills, such as those of `load_skills_from_dir`.
        registry: a source of further skills.
        code_executor: runs scripts; by default, the agent's executor. Without either, scripts can be read only.
        script_timeout: seconds after which a script is ended, if the executor does not end it earlier.
        additional_tools: tools that the agent has once it has read a skill whose metadata names them.
        tool_name_prefix: a prefix for all names, joined with an underscore.
        tool_filter: the names of the offered tools, without prefix, or a predicate; None offers all.
        discovery_mode: EAGER to put the names and descriptions into the instruction.

    Raises:
        ConfigurationError: two skills have one name.
    """

    def __init__(
        self,
        skills: Iterable[Skill] | None = None,
        *,
        registry: SkillRegistry | None = None,
        code_executor: BaseCodeExecutor | None = None,
        script_timeout: float | None = None,
        additional_tools: Iterable[Callable[..., Any] | BaseTool | BaseToolset] = (),
        tool_name_prefix: str | None = None,
        tool_filter: list[str] | ToolPredicate | None = None,
        discovery_mode: SkillDiscoveryMode = SkillDiscoveryMode.LAZY,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._skills: dict[str, Skill] = {}
        for skill in skills or ():
            if skill.name in self._skills:
                raise ConfigurationError(f"Two skills are called {skill.name!r}. Rename one of them.")
            self._skills[skill.name] = skill
        self.registry = registry
        self._code_executor = code_executor
        self._script_timeout = script_timeout
        self._discovery_mode = discovery_mode
        self._additional: list[BaseTool | BaseToolset] = []
        for tool in additional_tools:
            if not isinstance(tool, BaseTool | BaseToolset):
                tool = FunctionTool(tool)
            self._additional.append(tool)
        self._tools: list[BaseTool] = [
            LoadSkillTool(self),
            LoadSkillResourceTool(self),
            RunSkillScriptTool(self),
        ]
        if discovery_mode is SkillDiscoveryMode.LAZY:
            self._tools.insert(0, ListSkillsTool(self))
        if registry:
            self._tools.append(SearchSkillsTool(self, registry))

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> "SkillToolset":
        """Return the toolset of a YAML file: `skills_dir` is a folder of skills in the folder of the file."""
        arguments = dict(config)
        directory = Path(config_abs_path).parent
        skills_dir = (directory / str(arguments.pop("skills_dir", "skills"))).resolve()
        # `resolve` has followed `..` and symbolic links: a file must not read others outside of its folder.
        if not skills_dir.is_relative_to(directory.resolve()):
            raise ConfigurationError(f"{skills_dir} is outside of {directory}. Move the skills below it.")
        mode = SkillDiscoveryMode(arguments.pop("discovery_mode", SkillDiscoveryMode.LAZY))
        return cls(load_skills_from_dir(skills_dir), discovery_mode=mode, **arguments)

    @property
    def skills(self) -> list[Skill]:
        return list(self._skills.values())

    @property
    def known_tools(self) -> list[BaseTool]:
        return [*self._tools, *(tool for tool in self._additional if isinstance(tool, BaseTool))]

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools for skills, and the additional tools, which may be named by a skill that was read.

        Without a context return all: whoever looks for a tool by its name finds it.
        """
        tools = list(self._tools)
        if readonly_context and not _tools_of_read_skills(readonly_context):
            return tools
        for source in self._additional:
            if isinstance(source, BaseToolset):
                tools += await source.get_tools_with_prefix(readonly_context)
            else:
                tools.append(source)
        return tools

    async def _tools_of_invocation(self, readonly_context: ReadonlyContext | None) -> list[BaseTool]:
        # Not kept for the invocation: a skill that is read in it brings tools. Toolsets keep theirs themselves.
        return await self.get_tools(readonly_context)

    def _is_tool_selected(self, tool: BaseTool, readonly_context: ReadonlyContext | None) -> bool:
        if isinstance(tool, RunSkillScriptTool) and not self._can_run_scripts(readonly_context):
            return False
        if readonly_context and tool not in self._tools and not tool.stands_for_others:
            if tool.name not in _tools_of_read_skills(readonly_context):
                return False
        return super()._is_tool_selected(tool, readonly_context)

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        offered = [type(tool) for tool in self._tools if self._is_tool_selected(tool, tool_context)]
        sentences = [DEFAULT_SKILL_SYSTEM_INSTRUCTION]
        if ListSkillsTool in offered:
            sentences.append(_FIND)
        if SearchSkillsTool in offered:
            sentences.append(_SEARCH)
        if RunSkillScriptTool in offered:
            sentences.append(_RUN)
        else:
            sentences.append(_RUN_NOT)
        instruction = " ".join(sentences)
        if self.tool_name_prefix:
            for tool in self._tools:
                instruction = instruction.replace(f"`{tool.name}`", f"`{self.tool_name_prefix}_{tool.name}`")
        if self._discovery_mode is SkillDiscoveryMode.EAGER:
            instruction = f"{instruction}\n\n{format_skills_as_xml(self.skills)}"
        llm_request.append_instructions([instruction])

    def setup_problems(self) -> list[SetupProblem]:
        problems: list[SetupProblem] = []
        for toolset in self._toolsets():
            problems += toolset.setup_problems()
        return problems

    async def close(self) -> None:
        for toolset in self._toolsets():
            await toolset.close()

    def _toolsets(self) -> list[BaseToolset]:
        return [source for source in self._additional if isinstance(source, BaseToolset)]

    async def find(self, name: str) -> Skill | dict[str, Any]:
        """Return a skill of this toolset or of the registry; an error for the model if there is none."""
        if name in self._skills:
            return self._skills[name]
        if self.registry is None:
            known = ", ".join(self._skills) or "none"
            return _error("SKILL_NOT_FOUND", f"Skill '{name}' not found. The skills are: {known}.")
        try:
            return await self.registry.get_skill(name=name)
        except Exception:  # the class is the author's, and may raise anything
            logger.exception("The registry gave no skill.", extra={"skill": name})
            return _error("REGISTRY_ERROR", f"The registry gave no skill '{name}'.")

    def executor(self, context: ReadonlyContext) -> BaseCodeExecutor | None:
        """Return the executor for scripts with its limit of time; None if there is none."""
        found = self._code_executor or getattr(context.invocation.agent, "code_executor", None)
        if found is None or isinstance(found, BuiltInCodeExecutor):
            return None
        limits = [limit for limit in (self._script_timeout, found.timeout_seconds) if limit is not None]
        return found.model_copy(update={"timeout_seconds": min(limits, default=None)})

    def _can_run_scripts(self, context: ReadonlyContext | None) -> bool:
        if context is None:
            return self._code_executor is not None
        if self.executor(context) is None:
            return False
        return self.registry is not None or any(skill.resources.scripts for skill in self.skills)


class ListSkillsTool(FunctionTool):
    """Tells the model names and descriptions."""

    def __init__(self, toolset: SkillToolset) -> None:
        self._toolset = toolset
        super().__init__(self.list_skills, title="Look which skills there are")

    async def list_skills(self) -> str:
        """List the skills with their names and descriptions."""
        return format_skills_as_xml(self._toolset.skills)


class SearchSkillsTool(FunctionTool):
    """Searches the registry."""

    def __init__(self, toolset: SkillToolset, registry: SkillRegistry) -> None:
        self._toolset = toolset
        self._registry = registry
        super().__init__(self.search_skills, title="Look for a skill for {query}")
        self.description = registry.search_tool_description() or self.description

    async def search_skills(self, query: str) -> Any:
        """Search for more skills by words.

        Args:
            query: Words that tell the task.
        """
        try:
            found = await self._registry.search_skills(query=query)
        except Exception:  # the class is the author's, and may raise anything
            logger.exception("The registry of skills could not be searched.")
            return _error("REGISTRY_ERROR", "The registry cannot be searched now.")
        known = {skill.name for skill in self._toolset.skills}
        return [skill.model_dump(mode="json") for skill in found if skill.name not in known]


class LoadSkillTool(FunctionTool):
    """Gives the model the instructions of a skill, and the agent the tools that the skill names."""

    def __init__(self, toolset: SkillToolset) -> None:
        self._toolset = toolset
        super().__init__(self.load_skill, title="Read the skill {skill_name}")

    async def load_skill(self, skill_name: str, tool_context: ToolContext) -> dict[str, Any]:
        """Read the instructions of a skill.

        Args:
            skill_name: Name of the skill.
        """
        skill = await self._toolset.find(skill_name)
        if isinstance(skill, dict):
            return skill
        if tools := skill.frontmatter.additional_tools:
            key = _STATE_KEY.format(agent=tool_context.agent_name, skill=skill.name)
            tool_context.state[key] = tools
        instructions = skill.instructions
        if skill.frontmatter.metadata.get(INJECT_STATE):
            instructions = await inject_session_state(instructions, tool_context)
        return {
            "skill_name": skill.name,
            "instructions": instructions,
            "frontmatter": skill.frontmatter.model_dump(mode="json"),
        }


class LoadSkillResourceTool(FunctionTool):
    """Gives the model a file of a skill."""

    def __init__(self, toolset: SkillToolset) -> None:
        self._toolset = toolset
        super().__init__(self.load_skill_resource, title="Read {file_path} of the skill {skill_name}")

    async def load_skill_resource(self, skill_name: str, file_path: str) -> dict[str, Any]:
        """Read a file of a skill, not a file of the user.

        Args:
            skill_name: Name of the skill.
            file_path: Path in the skill, which begins with references/, assets/ or scripts/.
        """
        skill = await self._toolset.find(skill_name)
        if isinstance(skill, dict):
            return skill
        files = skill.resources.by_path()
        if file_path not in files:
            return _error("RESOURCE_NOT_FOUND", f"Resource '{file_path}' not found. {_name_files(files)}")
        content = files[file_path]
        place = {"skill_name": skill.name, "file_path": file_path}
        if isinstance(content, bytes):
            mime_type = mimetypes.guess_type(file_path)[0] or "application/octet-stream"
            if not is_shown(mime_type):
                return _error(
                    "NOT_READABLE", f"'{file_path}' is no text, image or PDF. A script can read it."
                )
            # The runtime makes an artifact of the part, and shows it to the model.
            return {**place, "content": types.Part.from_bytes(data=content, mime_type=mime_type)}
        if len(content) > MAX_TEXT_CHARACTERS:
            return _error(
                "NOT_READABLE",
                f"'{file_path}' is too long: {len(content):,} characters. A script can read it.",
            )
        return {**place, "content": content}


class RunSkillScriptTool(FunctionTool):
    """Runs a script of a skill by the code executor."""

    def __init__(self, toolset: SkillToolset) -> None:
        self._toolset = toolset
        super().__init__(self.run_skill_script, title="Run {file_path} of the skill {skill_name}")

    async def run_skill_script(
        self,
        skill_name: str,
        file_path: str,
        tool_context: ToolContext,
        args: dict[str, Any] | list[str] | None = None,
    ) -> dict[str, Any]:
        """Run a Python script of a skill. It works on copies of the skill's files, which are then deleted.

        Args:
            skill_name: Name of the skill.
            file_path: Path of the script, which begins with scripts/.
            args: Arguments as a list, or long options by name.
        """
        executor = self._toolset.executor(tool_context)
        if executor is None:
            return _error("NO_CODE_EXECUTOR", "Scripts cannot be run here: the agent has no code executor.")
        skill = await self._toolset.find(skill_name)
        if isinstance(skill, dict):
            return skill
        path = f"scripts/{file_path.removeprefix('scripts/')}"
        if path.removeprefix("scripts/") not in skill.resources.scripts:
            scripts = [name for name in skill.resources.by_path() if name.startswith("scripts/")]
            return _error("SCRIPT_NOT_FOUND", f"Script '{file_path}' not found. {_name_files(scripts)}")
        if not path.endswith(".py"):
            return _error(
                "UNSUPPORTED_SCRIPT_TYPE", f"'{path}' is no Python script, and only these can be run."
            )
        argv = [path, *_arguments(args)]
        code = _SCRIPT_RUNNER.format(given=json.dumps({"argv": argv, "files": _encode_files(skill)}))
        result = await executor.execute_code_async(tool_context.invocation, CodeExecutionInput(code))
        # An executor that runs no process has no exit code.
        is_failed = bool(result.stderr)
        if result.exit_code is not None:
            is_failed = result.exit_code != 0
        status = "success"
        if is_failed:
            status = "error"
        return {
            "skill_name": skill.name,
            "file_path": file_path,
            "stdout": result.stdout,
            "stderr": result.stderr,
            "status": status,
        }


def _tools_of_read_skills(context: ReadonlyContext) -> set[str]:
    """Return the names of the tools that the skills which the agent has read gave to it."""
    prefix = _STATE_KEY.format(agent=context.agent_name, skill="")
    names: set[str] = set()
    for key in context.state:
        if key.startswith(prefix):
            names.update(context.state[key] or ())
    return names


def _arguments(args: dict[str, Any] | list[str] | None) -> list[str]:
    if not isinstance(args, dict):
        return args or []
    found: list[str] = []
    for name, value in args.items():
        found += [f"--{name}", str(value)]
    return found


def _encode_files(skill: Skill) -> dict[str, str]:
    encoded = {}
    for path, content in skill.resources.by_path().items():
        if isinstance(content, str):
            content = content.encode()
        encoded[path] = base64.b64encode(content).decode()
    return encoded


def _name_files(files: Iterable[str]) -> str:
    names = sorted(files)[:_MAX_NAMED_FILES]
    if not names:
        return "The skill has none."
    return f"The skill has: {', '.join(names)}."


def _error(code: str, text: str) -> dict[str, Any]:
    return {"error": text, "error_code": code}

"""Agents from YAML files (contract A9)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from runtime.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.agents.config_agent_utils import from_config
from runtime.errors import ConfigurationError
from runtime.tools import AgentTool, BaseTool, FunctionTool, exit_loop, google_search
from runtime.tools.tool_configs import ToolArgsConfig
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline

HERE = __name__
scripted = ScriptedModel(turns=[call("price", "c1", item="lamp"), "20 €."])
colleague = BaseAgent(name="colleague")
not_an_agent = "text"


class Answer(BaseModel):
    text: str


Answers = list[Answer]
ByName = Mapping[str, Answer]
Choice = Literal["yes", "no"]
Either = Answer | None


class Shouting(LlmAgent):
    volume: int = 1


class Courier(BaseAgent):
    zip_code: str = ""
    max_callbacks: int = 0
    greeting_callback: str = ""
    on_delivery: Callable[..., None] | None = None


class Broken(BaseAgent):
    def model_post_init(self, context: Any, /) -> None:
        raise KeyError("no depot")


def price(item: str) -> str:
    """Look up a price."""
    return f"{item}: 20 €"


def make_tool(args: ToolArgsConfig) -> BaseTool:
    def stock() -> int:
        """Count the stock."""
        return int(dict(args)["count"])

    return FunctionTool(stock)


class Counter(BaseTool):
    """Reads its arguments from a file in its own way."""

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> BaseTool:
        return cls(name="counter", description=f"{Path(config_abs_path).name} {dict(config)}")


def note(callback_context: CallbackContext) -> None:
    callback_context.state["noted"] = True


def write(directory: Path, **files: str) -> Path:
    """Write `root.yaml` and others; return the path of the former."""
    for name, text in files.items():
        (directory / f"{name}.yaml").write_text(dedent(text))
    return directory / "root.yaml"


async def test_an_agent_from_a_file_answers_with_its_tools_and_callbacks(tmp_path: Path) -> None:
    """Contract A9."""
    root = write(
        tmp_path,
        root=f"""
            # A clerk
            name: clerk
            description: Sells furniture.
            model_code: {HERE}.scripted
            instruction: You sell furniture.
            generate_content_config: {{temperature: 0.5}}
            tools:
              - name: {HERE}.price
              - google_search
              - name: {HERE}.make_tool
                args: {{count: 7}}
              - name: {HERE}.Counter
                args: {{shelf: 3}}
            before_agent_callbacks:
              - name: {HERE}.note
            output_schema: null
        """,
    )
    agent = from_config(str(root))
    assert isinstance(agent, LlmAgent)
    assert agent.tools[:2] == [price, google_search]
    assert agent.generate_content_config is not None and agent.generate_content_config.temperature == 0.5
    conversation = Conversation(agent)
    assert outline(await conversation.say("Lamp?"))[-1] == "clerk: 20 €."
    assert (await conversation.session()).state["noted"] is True
    made = agent.tools[2]
    assert isinstance(made, FunctionTool) and made.func() == 7
    counter = agent.tools[3]
    assert isinstance(counter, Counter) and counter.description == "root.yaml {'shelf': 3}"


def test_workflow_agents_take_sub_agents_from_files_and_from_code(tmp_path: Path) -> None:
    """Contract A9."""
    colleague.parent_agent = None
    root = write(
        tmp_path,
        root=f"""
            agent_class: SequentialAgent
            name: pipeline
            sub_agents:
              - config_path: looping.yaml
              - config_path: ./side.yaml
              - code: {HERE}.colleague
        """,
        looping="""
            agent_class: LoopAgent
            name: refine
            max_iterations: 3
            sub_agents: [{config_path: writer.yaml}]
        """,
        writer="""
            name: writer
            tools: [exit_loop]
        """,
        side="""
            agent_class: ParallelAgent
            name: side
        """,
    )
    pipeline = from_config(root)
    assert isinstance(pipeline, SequentialAgent)
    loop, side, code = pipeline.sub_agents
    assert isinstance(loop, LoopAgent) and loop.max_iterations == 3
    assert isinstance(loop.sub_agents[0], LlmAgent) and loop.sub_agents[0].tools == [exit_loop]
    assert isinstance(side, ParallelAgent)
    assert code is colleague and code.parent_agent is pipeline


def test_classes_schemas_and_agent_tools_are_made_by_name(tmp_path: Path) -> None:
    """Contract A9."""
    root = write(
        tmp_path,
        root=f"""
            agent_class: {HERE}.Shouting
            name: boss
            volume: 11
            output_schema: {{name: {HERE}.Answer}}
            tools:
              - name: AgentTool
                args: {{agent: {{config_path: helper.yaml}}, skip_summarization: true}}
        """,
        helper="name: helper",
    )
    boss = from_config(root)
    assert isinstance(boss, Shouting) and (boss.volume, boss.output_schema) == (11, Answer)
    [tool] = boss.tools
    assert isinstance(tool, AgentTool) and (tool.agent.name, tool.skip_summarization) == ("helper", True)


def test_a_leading_dot_stands_for_the_package_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "yaml_shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tools.py").write_text("def sell() -> str:\n    return 'sold'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    agent = from_config(write(package, root="name: clerk\ntools: [{name: .tools.sell}]"))
    assert isinstance(agent, LlmAgent)
    assert agent.tools == [sys.modules["yaml_shop.tools"].sell]


def test_a_leading_dot_in_a_file_further_down_stands_for_the_package_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, price in (("yaml_mall", 1), ("yaml_mall/floor", 2)):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
        (tmp_path / package / "goods.py").write_text(f"def price() -> int:\n    return {price}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path / "yaml_mall" / "floor", clerk="name: clerk\ntools: [.goods.price]")
    root = write(
        tmp_path / "yaml_mall",
        root="name: c\ntools: [.goods.price]\nsub_agents: [{config_path: floor/clerk.yaml}]",
    )
    agent = from_config(root)
    assert isinstance(agent, LlmAgent) and isinstance(agent.sub_agents[0], LlmAgent)
    assert agent.tools == [sys.modules["yaml_mall.goods"].price]
    assert agent.sub_agents[0].tools == [sys.modules["yaml_mall.floor.goods"].price]


def test_fields_of_ones_own_are_read_by_their_type_and_not_by_their_name(tmp_path: Path) -> None:
    courier = from_config(
        write(
            tmp_path,
            root=f"""
                agent_class: {HERE}.Courier
                name: courier
                zip_code: '10115'
                max_callbacks: 3
                greeting_callback: Ring twice
                on_delivery: {HERE}.note
            """,
        )
    )
    assert isinstance(courier, Courier)
    assert (courier.zip_code, courier.max_callbacks, courier.greeting_callback) == ("10115", 3, "Ring twice")
    assert courier.on_delivery is note


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("run_command", "posix"),
        ("bound", "posix"),
        ("generic", "subprocess"),
        ("subprocess", "subprocess"),
        ("hidden.eval", "builtins"),
        ("subprocess.run", "subprocess"),
    ],
)
def test_a_name_that_leads_through_a_package_of_ones_own_into_the_standard_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    (tmp_path / "passage").mkdir()
    (tmp_path / "passage" / "__init__.py").write_text(
        "import builtins, functools, os, subprocess, sys\n"
        "from os import system as run_command\n"
        "bound = functools.partial(os.system, 'true')\n"
        "generic = subprocess.Popen[bytes]\n"
        "sys.modules['passage.hidden'] = builtins\n"
        "sys.modules['passage.subprocess'] = subprocess\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError, match=f"'passage.{name}' is not allowed.* {package!r}"):
        from_config(write(tmp_path, root=f"name: c\ntools: [passage.{name}]"))


@pytest.mark.parametrize("name", ["Answers", "ByName", "Choice", "Either"])
def test_types_of_the_standard_library_may_describe_a_schema(tmp_path: Path, name: str) -> None:
    root = write(tmp_path, root=f"name: c\noutput_schema: {HERE}.{name}")
    agent = from_config(root)
    assert isinstance(agent, LlmAgent) and agent.output_schema == globals()[name]


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("name: clerk\ntols: []", r"root\.yaml, line 2, key 'tols': LlmAgent has no such field.*tools"),
        ("name: clerk\nparent_agent: x", r"line 2, key 'parent_agent': LlmAgent has no such field"),
        ("name: no name", r"root\.yaml, line 1, key 'name': name: .*'no name' is not allowed"),
        ("name: c\nmodel_callbacks: [x.y]", r"line 2, key 'model_callbacks': LlmAgent has no such field"),
        ("name: c\ntools: google_search", r"line 2, key 'tools': the value is a str. Write a list"),
        ("name: c\noutput_schema: [a]", r"line 2, key 'output_schema': Input should be a valid dict"),
        (
            f"name: c\ntools: [{HERE}.not_an_agent]",
            r"line 2, key 'tools': '.*not_an_agent' is a str, not a tool",
        ),
        (f"agent_class: {HERE}.Broken\nname: c", r"root\.yaml: KeyError: 'no depot'"),
        ("name: " + "[" * 5000 + "]" * 5000, r"root\.yaml, line 1, key 'name': name: Input should be"),
        ("agent_class: Clerk\nname: c", r"line 1, key 'agent_class': 'Clerk' has no module"),
        (f"agent_class: {HERE}.price\nname: c", r"key 'agent_class': '.*price' is no agent class"),
        ("name: c\ntools: [os.system]", r"line 2, key 'tools': 'os.system' is not allowed.*your own package"),
        ("name: c\nbefore_agent_callbacks: [{name: yaml.load}]", r"'yaml.load' is not allowed"),
        ("name: c\ntools: [nowhere.to_be.found]", r"cannot be imported: No module named 'nowhere'"),
        (f"name: c\ntools: [{HERE}.nothing]", r"cannot be imported: .* no attribute 'nothing'"),
        ("name: c\ntools: [{nam: google_search}]", r"key 'tools': name: Field required; nam: Extra inputs"),
        ("name: c\ntools: [{name: ExampleTool, args: {colour: red}}]", r"key 'tools': .*'colour'"),
        (f"name: c\nsub_agents: [{{code: {HERE}.not_an_agent}}]", r"is a str, not an agent"),
        ("name: c\nsub_agents: [{code: a.b, config_path: b.yaml}]", r"either `config_path` or `code`"),
        ("name: c\nsub_agents: [{config_path: gone.yaml}]", r"Config file not found: .*gone\.yaml"),
        ("name: c\nsub_agents: [{config_path: ../other.yaml}]", r"is outside of .*Move it"),
        ("name: c\nsub_agents: [{config_path: root.yaml}]", r"refers back to itself"),
        ("- a list", r"root\.yaml: the file has no keys"),
        ("", r"root\.yaml: the file has no keys"),
        ("name: [", r"root\.yaml: .*line 2"),
        ("!!python/object/apply:os.system ['true']", r"could not determine a constructor"),
    ],
)
def test_a_mistake_names_file_line_and_key(tmp_path: Path, text: str, mistake: str) -> None:
    """Contract A9."""
    with pytest.raises(ConfigurationError, match=f"(?s){mistake}"):
        from_config(write(tmp_path, root=text))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "root.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(ConfigurationError, match=r"root\.yaml: 'utf-8' codec can't decode"):
        from_config(tmp_path / "root.yaml")


def test_a_module_that_fails_to_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "yaml_broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    mistake = r"root\.yaml, line 2, key 'tools': 'yaml_broken.f' cannot be imported: ZeroDivisionError"
    with pytest.raises(ConfigurationError, match=mistake):
        from_config(write(tmp_path, root="name: c\ntools: [yaml_broken.f]"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"Config file not found: .*nowhere\.yaml"):
        from_config(tmp_path / "nowhere.yaml")

"""`manage.py adk_check` lists the agents of a site; Django's system check reports their errors.

The tests check the site itself, and the site with an installed app `shop`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from textwrap import dedent

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test.utils import modify_settings, override_settings

from sessions_app.agent_apps import registry
from sessions_app.rendering.call_words import find_tool
from sessions_app.rendering.once_filter import once
from tests.integration.agent_apps.reported_problems import messages, problems

Install = Callable[[str], None]

GEMINI_ACCESS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install an app `shop` whose `agents.py` has the given source."""
    changed = modify_settings(INSTALLED_APPS={"append": "shop"})

    def install_shop(source: str) -> None:
        package = tmp_path / "shop"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / "agents.py").write_text(dedent(source))
        monkeypatch.syspath_prepend(tmp_path)
        changed.enable()

    for name in GEMINI_ACCESS:
        monkeypatch.delenv(name, raising=False)
    yield install_shop
    changed.disable()
    for name in ("shop", "shop.agents"):
        sys.modules.pop(name, None)


def adk_check() -> tuple[str, str]:
    """Run the command and return its stdout and stderr."""
    out, err = StringIO(), StringIO()
    call_command("adk_check", stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def test_the_site_has_no_problems() -> None:
    assert messages() == []


def test_the_command_lists_apps_with_module_agents_models_and_tools(install: Install) -> None:
    install(
        """
        from runtime.agents import LlmAgent, SequentialAgent
        from runtime.apps import App
        from runtime.tools import AgentTool, LongRunningFunctionTool

        def price(item: str) -> str:
            "The price of an item."
            return "1"

        def ship(item: str) -> str:
            "Ship an item."
            return "on its way"

        clerk = LlmAgent(name="clerk", model="demo", tools=[price, LongRunningFunctionTool(ship)])
        critic = LlmAgent(name="critic", model="demo")
        seller = LlmAgent(name="seller", model="demo", tools=[AgentTool(critic)])
        app = App(name="corner-shop", root_agent=SequentialAgent(name="desk", sub_agents=[clerk, seller]))
        """
    )
    out, err = adk_check()
    assert err == ""
    assert out.startswith("help_desk  adk_site.agents\n  help_desk  LlmAgent, model demo\n")
    assert out.endswith(
        dedent(
            """\
            corner-shop  shop.agents
              desk  SequentialAgent
                clerk  LlmAgent, model demo
                  tools: price, ship (long-running)
                seller  LlmAgent, model demo
                  tools: critic (agent)
              critic  LlmAgent, model demo
            2 apps, 0 errors, 0 warnings.
            """
        )
    )


EXPLAINED = """
from typing import Annotated, Literal
from runtime.agents import LlmAgent
from runtime.tools import LongRunningFunctionTool, ToolContext

def price(item: Literal["lamp", "desk"], colour, tool_context: ToolContext, count: Annotated[int, "So many."] = 1):
    \'\'\'Look up the price
    of an item.

    Args:
        item: The item that is to be bought, by the name that it has in the shop's catalogue.
    \'\'\'

def ship(item: str, *, context: ToolContext) -> str:
    return "on its way"

def guard(callback_context):
    return None

helper = LlmAgent(name="helper", model="demo")
root_agent = LlmAgent(
    name="clerk",
    model="demo",
    description="Sells.",
    instruction="Be kind.",
    tools=[price, LongRunningFunctionTool(ship)],
    before_agent_callback=guard,
    sub_agents=[helper],
)
"""


def test_the_command_explains_an_app_as_its_model_sees_it(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(EXPLAINED)
    monkeypatch.chdir(tmp_path)
    out = StringIO()
    call_command("adk_check", "shop", stdout=out, no_color=True)
    assert out.getvalue() == dedent(
        """\
        shop  shop.agents

        clerk  LlmAgent, model demo
          description     Sells.
          instruction     Be kind.
          sub-agents      helper
          callback        before_agent_callback: guard

          tool            price
          defined in      line 6 of shop/agents.py
          description     Look up the price of an item.  (docstring, line 7)
            item          "lamp" | "desk", required  (annotation Literal['lamp', 'desk'])
                          The item that is to be bought, by the name that it has in the shop's catalogue.
                          (docstring, line 11)
            colour        string | number | boolean | object | array of string | number | boolean | object,
                          required  (no annotation)
                          no description
          warning         'colour' has no type: the model is told that any value fits
            count         integer, optional  (annotation Annotated[int, 'So many.'], default 1)
                          So many.  (annotation)
          hidden          tool_context  (the runtime fills it in)

          tool            ship (long-running)
          defined in      line 14 of shop/agents.py
          warning         no docstring: the model has only the name to decide by
          description     This runs long: the first result may only say that the work is pending. While it
                          is, do not call this again; the final result comes by itself.  (added by
                          LongRunningFunctionTool)
            item          string, required  (annotation str)
                          no description
          hidden          context  (the runtime fills it in)

        helper  LlmAgent, model demo
          description     none: other agents have only its name to decide by
          instruction     none
        1 app, 0 errors, 0 warnings.
        """
    )


def test_an_app_that_is_absent_or_broken_is_named(install: Install) -> None:
    install("import no_such_package")
    with pytest.raises(CommandError, match=r"There is no app 'clerk'\. The apps of this site: help_desk\."):
        call_command("adk_check", "clerk")
    err = StringIO()
    with pytest.raises(CommandError, match=r"1 app, 1 error, 0 warnings\."):
        call_command("adk_check", "shop", stdout=StringIO(), stderr=err, no_color=True)
    assert "No module named 'no_such_package'" in err.getvalue()


def test_a_root_agent_alone_makes_an_app_named_after_the_django_app(install: Install) -> None:
    install("from runtime.agents import LlmAgent\nroot_agent = LlmAgent(name='clerk', model='demo')")
    assert "shop  shop.agents\n  clerk  LlmAgent" in adk_check()[0]
    assert registry.get_app("shop").root_agent.name == "clerk"


def test_a_toolset_of_an_mcp_server_that_is_not_allowed_is_an_error(install: Install) -> None:
    install(
        """
        from runtime.agents import LlmAgent
        from runtime.tools.mcp_tool import McpToolset, StdioServerParameters, StreamableHTTPConnectionParams

        def toolset(url):
            return McpToolset(connection_params=StreamableHTTPConnectionParams(url=url))

        clock = StdioServerParameters(command="uvx", args=["mcp-server-time", "--local-timezone=UTC"])
        urls = ["https://a.example/mcp/x?key=1", "https://a.example/mcpx", "https://a.example/mcp/../x"]
        tools = [McpToolset(connection_params=clock), *map(toolset, urls)]
        root_agent = LlmAgent(name="clerk", model="demo", tools=tools)
        """
    )
    assert problems() == []
    with override_settings(
        ADK={**settings.ADK, "mcp_servers": ["uvx mcp-server-time", "https://a.example/mcp/"]}
    ):
        assert problems() == [
            f"sessions_app.E009 McpToolset of agent 'clerk' cannot be used: The MCP server {server!r} is not on the "
            "list of servers that agents may reach."
            for server in ("https://a.example/mcpx", "https://a.example/mcp/../x")
        ]
    with override_settings(ADK={**settings.ADK, "mcp_servers": []}):
        assert len(problems()) == 4
    with override_settings(ADK={**settings.ADK, "mcp_servers": "uvx"}):
        codes = sorted(problem.split()[0] for problem in problems())
        assert codes == ["sessions_app.E007", *["sessions_app.E009"] * 4]
    assert problems() == []


def test_broken_skills_are_named_with_their_files(install: Install, tmp_path: Path) -> None:
    for name, text in {
        "pay": "---\nname: pay\n---\n",
        "tax": "Pay.",
        "fine": "---\nname: fine\ndescription: a\n---\n",
    }.items():
        (tmp_path / "shop" / "skills" / name).mkdir(parents=True)
        (tmp_path / "shop" / "skills" / name / "SKILL.md").write_text(text)
    install(
        """
        from pathlib import Path

        from runtime.agents import LlmAgent
        from runtime.skills import load_skills_from_dir
        from runtime.tools.skill_toolset import SkillToolset

        skills = load_skills_from_dir(Path(__file__).parent / "skills")
        root_agent = LlmAgent(name="clerk", model="demo", tools=[SkillToolset(skills)])
        """
    )
    (problem,) = problems()
    folder = tmp_path / "shop" / "skills"
    assert f"{folder}/pay/SKILL.md: description: Field required." in problem
    assert f"{folder}/tax/SKILL.md: the file begins with no YAML" in problem
    assert f"{folder}/fine" not in problem


def test_errors_make_the_command_fail_after_all_of_them_are_reported(install: Install) -> None:
    install("import no_such_package")
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match=r"2 apps, 1 error, 0 warnings\."):
        call_command("adk_check", stdout=out, stderr=err, no_color=True)
    assert "(no app)  shop.agents" in out.getvalue()
    assert "help_desk  adk_site.agents" in out.getvalue()
    expected = "shop.agents: (sessions_app.E001) ModuleNotFoundError: No module named 'no_such_package'"
    assert err.getvalue().startswith(expected)
    assert "HINT: Look at line 1 of " in err.getvalue()


def test_stored_calls_are_shown_while_the_agents_cannot_be_loaded(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    once.forget()
    install("import no_such_package")
    assert [find_tool("help_desk", "orders", "order_status") for _ in range(2)] == [None, None]
    errors = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert [str(error) for error in errors] == ["No module named 'no_such_package'"]


def test_get_app_raises_the_import_error_of_an_agents_py(
    install: Install,
) -> None:
    install("import no_such_package")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        registry.get_app("help_desk")


AGENT = "from runtime.agents import LlmAgent\nfrom runtime.apps import App\n"
TWINS = (
    "twins = [LlmAgent(name='twin', model='demo') for _ in range(2)]\n"
    "root_agent = LlmAgent(name='clerk', model='demo', sub_agents=twins)\n"
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "agent = 1",
            "sessions_app.E001 shop.agents defines no agent: write app = App(name=..., root_agent=...) or "
            "root_agent = Agent(...).",
        ),
        (
            f"{AGENT}root_agent = LlmAgent(name='clerk', model='demo', instructions='Sell.')",
            "sessions_app.E001 LlmAgent.instructions: Extra inputs are not permitted",
        ),
        (
            f"{AGENT}app = App(name='help_desk', root_agent=LlmAgent(name='clerk', model='demo'))",
            "sessions_app.E002 The app 'help_desk' is also defined in adk_site.agents.",
        ),
        (
            f"{AGENT}from runtime.apps import ResumabilityConfig\n{TWINS}"
            "app = App(name='shop', root_agent=root_agent, "
            "resumability_config=ResumabilityConfig(is_resumable=True))",
            "sessions_app.E003 Several agents in the tree of 'clerk' are called 'twin'.",
        ),
        (
            f"{AGENT}def weigh(item: str, /) -> int:\n    'Weigh.'\n"
            "root_agent = LlmAgent(name='clerk', model='demo', tools=[weigh])",
            "sessions_app.E001 LlmAgent: Parameter 'item' of tool 'weigh' is positional-only, but a model gives "
            "arguments by name. Remove the `/` from the signature.",
        ),
        (
            f"{AGENT}from runtime.tools import BaseTool\n"
            "class Scale(BaseTool):\n    def _get_declaration(self):\n        raise LookupError('no weights')\n"
            "scale = Scale(name='scale', description='Weighs.')\n"
            "root_agent = LlmAgent(name='clerk', model='demo', tools=[scale])",
            "sessions_app.E004 Tool 'scale' of agent 'clerk' cannot be declared: LookupError: no weights",
        ),
        (
            f"{AGENT}def weigh() -> int:\n    'Weigh.'\n"
            "root_agent = LlmAgent(name='clerk', model='demo', tools=[weigh, weigh])",
            "sessions_app.E005 Agent 'clerk' has several tools 'weigh'.",
        ),
        (
            f"{AGENT}from runtime.plugins import LoggingPlugin\n"
            "app = App(name='shop', root_agent=LlmAgent(name='clerk', model='demo'), "
            "plugins=[LoggingPlugin(), LoggingPlugin()])",
            "sessions_app.E006 App 'shop' has several plugins 'logging_plugin'.",
        ),
    ],
)
def test_an_unusable_definition_is_an_error_that_names_it(
    install: Install, source: str, expected: str
) -> None:
    install(source)
    assert problems() == [expected]


def test_the_graph_of_a_workflow_is_listed_with_warnings_of_what_never_ends_or_runs_twice(
    install: Install,
) -> None:
    install(
        """
        from runtime.tools import LongRunningFunctionTool
        from runtime.workflow import DEFAULT_ROUTE, Workflow

        def pay() -> None:
            'Pay the money back.'

        def again(): ...

        def end(): ...

        payment = LongRunningFunctionTool(pay)
        root_agent = Workflow(name='flow', edges=[
            ('START', (again, payment, end)),
            (again, {DEFAULT_ROUTE: again}),
            (payment, end),
        ])
        """
    )
    out, err = adk_check()
    assert "    pay  tool node\n      tools: pay (long-running)\n" in out
    assert "    START -> again, pay, end\n    again -> again on any other route\n    pay -> end\n" in out
    assert "(sessions_app.W016) Workflow 'flow' runs 'end' once for each" in err
    assert "(sessions_app.W006) Workflow 'flow' cannot end after 'again'." in err
    assert "API key" not in err  # the node of a tool asks no model


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (TWINS, "sessions_app.W003 Several agents in the tree of 'clerk' are called 'twin'."),
        (
            "root_agent = LlmAgent(name='clerk', model='no-such-model')",
            "sessions_app.W001 No model class is registered for the model 'no-such-model' of clerk.",
        ),
    ],
)
def test_a_definition_that_may_not_do_what_it_says_is_a_warning(
    install: Install, source: str, expected: str
) -> None:
    install(AGENT + source)
    assert problems() == [expected]


def test_a_gemini_model_without_a_key_is_a_warning_that_names_the_agents(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        f"{AGENT}from runtime.models import Gemini\nfrom runtime.tools import AgentTool\n"
        "helper = LlmAgent(name='helper', model='gemini-2.5-flash')\n"
        "keyed = LlmAgent(name='keyed', model=Gemini(model='gemini-2.5-flash', api_key='secret'))\n"
        "root_agent = LlmAgent(name='clerk', tools=[AgentTool(helper)], sub_agents=[keyed])"
    )
    expected = "sessions_app.W001 No API key is set for the model 'gemini-2.5-flash' of clerk, helper."
    assert problems() == [expected]
    assert "2 apps, 0 errors, 1 warning." in adk_check()[0]
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    assert problems() == []


def test_the_key_and_the_package_of_another_model_are_named(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("runtime.models.http_llm.find_spec", lambda name: None)
    install(f"{AGENT}root_agent = LlmAgent(name='clerk', model='openai/gpt-5')")
    assert sorted(problems()) == [
        "sessions_app.W001 No API key is set for the model 'openai/gpt-5' of clerk.",
        "sessions_app.W001 The package 'openai' is not installed for the model 'openai/gpt-5' of clerk.",
    ]

"""Public names: a module written for google-adk finds its imports and signatures here (contract L1, L9, T6, T7)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel

from runtime.a2a.utils.agent_to_a2a import to_a2a
from runtime.agents import LlmAgent
from runtime.apps import ResumabilityConfig
from runtime.code_executors import UnsafeLocalCodeExecutor
from runtime.errors import ConfigurationError
from runtime.evaluation.eval_config import EvalConfig
from runtime.models import LlmRequest
from runtime.runners import InMemoryRunner, Runner
from runtime.sessions.base_session_service import GetSessionConfig
from runtime.tools import AgentTool, FunctionTool

NAMES = {
    "runtime": "Agent Runner",
    "runtime.agents": "Agent LlmAgent BaseAgent SequentialAgent LoopAgent ParallelAgent InvocationContext RunConfig",
    "runtime.agents.base_agent": "BaseAgent CallbackContext",
    "runtime.agents.callback_context": "CallbackContext Context ReadonlyContext",
    "runtime.agents.context": "Context ReadonlyContext",
    "runtime.a2a.utils.agent_to_a2a": "to_a2a",
    "runtime.plugins.base_plugin": "BasePlugin CallbackContext",
    "runtime.agents.invocation_context": "InvocationContext ContextCacheConfig RunConfig Session BaseAgent Event"
    " BaseArtifactService BaseCredentialService BaseMemoryService BaseSessionService BaseTool BaseAgentState",
    "runtime.agents.llm_agent": "Agent LlmAgent CallbackContext ToolContext ReadonlyContext InvocationContext"
    " InstructionProvider ToolUnion BaseTool LlmRequest LlmResponse",
    "runtime.agents.loop_agent": "LoopAgent",
    "runtime.agents.parallel_agent": "ParallelAgent",
    "runtime.agents.readonly_context": "ReadonlyContext",
    "runtime.agents.run_config": "RunConfig StreamingMode",
    "runtime.agents.sequential_agent": "SequentialAgent LlmAgent",
    "runtime.apps": "App ResumabilityConfig",
    "runtime.apps.app": "App ResumabilityConfig EventsCompactionConfig",
    "runtime.artifacts": "BaseArtifactService InMemoryArtifactService",
    "runtime.artifacts.base_artifact_service": "BaseArtifactService",
    "runtime.artifacts.in_memory_artifact_service": "InMemoryArtifactService",
    "runtime.auth.auth_credential": "AuthCredential AuthCredentialTypes OAuth2Auth",
    "runtime.auth.auth_schemes": "AuthScheme AuthSchemeType",
    "runtime.auth.auth_tool": "AuthConfig",
    "runtime.code_executors": "BaseCodeExecutor BuiltInCodeExecutor UnsafeLocalCodeExecutor",
    "runtime.code_executors.base_code_executor": "BaseCodeExecutor",
    "runtime.code_executors.code_execution_utils": "CodeExecutionInput CodeExecutionResult File",
    "runtime.code_executors.unsafe_local_code_executor": "BaseCodeExecutor UnsafeLocalCodeExecutor",
    "runtime.code_executors.built_in_code_executor": "BuiltInCodeExecutor",
    "runtime.evaluation.agent_evaluator": "AgentEvaluator",
    "runtime.events": "Event EventActions",
    "runtime.events.event": "Event",
    "runtime.events.event_actions": "EventActions",
    "runtime.examples": "Example BaseExampleProvider",
    "runtime.skills": "Frontmatter Resources Script Skill SkillRegistry load_skill_from_dir load_skills_from_dir"
    " list_skills_in_dir load_skill_from_dir_async load_skills_from_dir_async list_skills_in_dir_async",
    "runtime.skills.models": "Frontmatter Resources Script Skill",
    "runtime.skills.skill_registry": "SkillRegistry Frontmatter Skill",
    "runtime.tools.skill_toolset": "SkillToolset SkillDiscoveryMode LoadSkillTool SkillRegistry",
    "runtime.memory": "BaseMemoryService InMemoryMemoryService",
    "runtime.memory.base_memory_service": "BaseMemoryService",
    "runtime.memory.in_memory_memory_service": "InMemoryMemoryService",
    "runtime.memory.memory_entry": "MemoryEntry",
    "runtime.models": "BaseLlm Claude Gemini LLMRegistry LlmRequest LlmResponse",
    "runtime.models.anthropic_llm": "AnthropicLlm Claude BaseLlm LlmResponse",
    "runtime.models.base_llm": "BaseLlm",
    "runtime.models.google_llm": "Gemini",
    "runtime.models.lite_llm": "LiteLlm BaseLlm LlmResponse",
    "runtime.models.llm_request": "LlmRequest",
    "runtime.models.llm_response": "LlmResponse",
    "runtime.models.registry": "LLMRegistry",
    "runtime.planners": "BasePlanner BuiltInPlanner PlanReActPlanner",
    "runtime.plugins": "BasePlugin",
    "runtime.plugins.logging_plugin": "LoggingPlugin",
    "runtime.plugins.plugin_manager": "PluginManager",
    "runtime.runners": "Runner InMemoryRunner RunConfig Session Event BasePlugin BaseSessionService BaseAgent",
    "runtime.sessions": "BaseSessionService InMemorySessionService Session State",
    "runtime.sessions.base_session_service": "State BaseSessionService GetSessionConfig ListSessionsResponse",
    "runtime.sessions.database_session_service": "DatabaseSessionService State",
    "runtime.sessions.in_memory_session_service": "State InMemorySessionService",
    "runtime.sessions.session": "Session",
    "runtime.sessions.state": "State",
    "runtime.integrations.crewai": "CrewaiTool",
    "runtime.integrations.langchain": "LangchainTool",
    "runtime.tools.crewai_tool": "CrewaiTool",
    "runtime.tools.enterprise_search_tool": "EnterpriseWebSearchTool enterprise_web_search_tool",
    "runtime.tools.google_maps_grounding_tool": "GoogleMapsGroundingTool google_maps_grounding",
    "runtime.tools.langchain_tool": "LangchainTool",
    "runtime.tools.retrieval": "BaseRetrievalTool LlamaIndexRetrieval VertexAiRagRetrieval",
    "runtime.tools.retrieval.base_retrieval_tool": "BaseRetrievalTool",
    "runtime.tools.vertex_ai_search_tool": "VertexAiSearchTool",
    "runtime.tools": "FunctionTool LongRunningFunctionTool AgentTool BaseTool ToolContext google_search url_context"
    " load_artifacts load_memory preload_memory exit_loop transfer_to_agent get_user_choice ExampleTool"
    " VertexAiSearchTool enterprise_web_search google_maps_grounding McpToolset MCPToolset",
    "runtime.tools.agent_tool": "AgentTool ToolContext",
    "runtime.tools.base_tool": "BaseTool ToolContext",
    "runtime.tools.base_toolset": "BaseToolset",
    "runtime.tools.example_tool": "ExampleTool",
    "runtime.tools.exit_loop_tool": "exit_loop",
    "runtime.tools.function_tool": "FunctionTool ToolContext",
    "runtime.tools.google_search_tool": "google_search GoogleSearchTool",
    "runtime.tools.load_artifacts_tool": "load_artifacts_tool LoadArtifactsTool",
    "runtime.tools.load_memory_tool": "load_memory_tool",
    "runtime.tools.load_web_page": "load_web_page",
    "runtime.tools.long_running_tool": "LongRunningFunctionTool",
    "runtime.tools.mcp_tool": "McpTool MCPTool McpToolset MCPToolset SseConnectionParams StdioConnectionParams"
    " StdioServerParameters StreamableHTTPConnectionParams",
    "runtime.tools.mcp_tool.mcp_session_manager": "SseConnectionParams StdioConnectionParams"
    " StreamableHTTPConnectionParams",
    "runtime.tools.mcp_tool.mcp_tool": "McpTool MCPTool",
    "runtime.tools.mcp_tool.mcp_toolset": "McpToolset MCPToolset StdioServerParameters",
    "runtime.tools.openapi_tool": "OpenAPIToolset RestApiTool",
    "runtime.tools.openapi_tool.auth.auth_helpers": "token_to_scheme_credential openid_dict_to_scheme_credential"
    " dict_to_auth_scheme",
    "runtime.tools.openapi_tool.openapi_spec_parser": "OpenAPIToolset OperationEndpoint RestApiTool",
    "runtime.tools.openapi_tool.openapi_spec_parser.openapi_toolset": "OpenAPIToolset",
    "runtime.tools.openapi_tool.openapi_spec_parser.rest_api_tool": "RestApiTool",
    "runtime.tools.preload_memory_tool": "preload_memory_tool PreloadMemoryTool",
    "runtime.tools.tool_confirmation": "ToolConfirmation",
    "runtime.tools.tool_context": "Context ToolContext",
    "runtime.tools.transfer_to_agent_tool": "transfer_to_agent",
    "runtime.tools.url_context_tool": "url_context UrlContextTool",
    "runtime.utils.instructions_utils": "inject_session_state",
}
"""Public names of each module."""

PARAMETERS: dict[Callable[..., Any], str] = {
    Runner: "* session_service app? app_name? agent? plugins? artifact_service? memory_service?",  # L9
    InMemoryRunner: "agent? * app_name? app? plugins?",  # L9
    Runner.run_async: "* user_id session_id new_message? invocation_id? state_delta? run_config?",  # L1
    FunctionTool: "func * require_confirmation?",  # T1, T7
    AgentTool: "agent skip_summarization?",  # T6
}
"""Parameters: those after `*` are keyword-only; those with `?` are optional."""


@pytest.mark.parametrize("module", NAMES)
def test_every_public_name_can_be_imported_from_its_module(module: str) -> None:
    found = import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize("function", PARAMETERS, ids=lambda function: function.__qualname__)
def test_l1_l9_t6_t7_signatures_match_programs_written_for_google_adk(function: Callable[..., Any]) -> None:
    positional, _, keyword_only = PARAMETERS[function].partition("*")
    found = _parameters(function)
    assert list(found)[: len(positional.split())] == positional.split()
    assert dict.fromkeys(keyword_only.split(), inspect.Parameter.KEYWORD_ONLY).items() <= found.items()
    others = found.keys() - {*positional.split(), *keyword_only.split()}
    assert [name for name in others if not name.endswith("?")] == []


def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the kind of each parameter; names of optional parameters end with `?`."""
    return {
        p.name + ("" if p.default is inspect.Parameter.empty else "?"): p.kind
        for p in inspect.signature(function).parameters.values()
        if p.name != "self"
    }


def test_to_a2a_names_the_setting_that_takes_its_place() -> None:
    with pytest.raises(ConfigurationError, match="setting 'a2a_apps'"):
        to_a2a(LlmAgent(name="desk"))


@pytest.mark.parametrize(
    "configuration", [EvalConfig, ResumabilityConfig, GetSessionConfig, LlmRequest, UnsafeLocalCodeExecutor]
)
def test_an_unknown_field_of_a_configuration_is_refused_by_name(configuration: type[BaseModel]) -> None:
    with pytest.raises(ValueError, match="retries"):
        configuration(retries=1)

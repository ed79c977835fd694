"""Runners: they run the invocations of an app in sessions.

google-adk's module offers the types of a Runner's arguments, too.
"""

from runtime.agents.base_agent import BaseAgent
from runtime.agents.invocation_context import InvocationContext, new_invocation_context_id
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.auth.credential_service.base_credential_service import BaseCredentialService
from runtime.errors import SessionNotFoundError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.memory.base_memory_service import BaseMemoryService
from runtime.models.llm_request import ContextCacheConfig
from runtime.plugins.base_plugin import BasePlugin
from runtime.plugins.plugin_manager import PluginManager
from runtime.run_config import RunConfig
from runtime.runners.runner import InMemoryRunner, Runner
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig
from runtime.sessions.session import Session
from runtime.tools.base_toolset import BaseToolset

__all__ = [
    "BaseAgent",
    "BaseArtifactService",
    "BaseCredentialService",
    "BaseMemoryService",
    "BasePlugin",
    "BaseSessionService",
    "BaseToolset",
    "ContextCacheConfig",
    "Event",
    "EventActions",
    "GetSessionConfig",
    "InMemoryRunner",
    "InvocationContext",
    "PluginManager",
    "RunConfig",
    "Runner",
    "Session",
    "SessionNotFoundError",
    "new_invocation_context_id",
]

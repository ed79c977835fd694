"""Public path; defined elsewhere. google-adk offers the types of the fields, too."""

from runtime.agents.base_agent import BaseAgent, BaseAgentState
from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.credential_service.base_credential_service import BaseCredentialService
from runtime.context import InvocationContext
from runtime.context import new_invocation_id as new_invocation_context_id
from runtime.errors import LlmCallsLimitExceededError
from runtime.events.event import Event
from runtime.memory.base_memory_service import BaseMemoryService
from runtime.run_config import RunConfig
from runtime.sessions.base_session_service import BaseSessionService
from runtime.sessions.session import Session
from runtime.tools.base_tool import BaseTool

__all__ = [
    "AuthCredential",
    "BaseAgent",
    "BaseAgentState",
    "BaseArtifactService",
    "BaseCredentialService",
    "BaseMemoryService",
    "BaseSessionService",
    "BaseTool",
    "ContextCacheConfig",
    "Event",
    "InvocationContext",
    "LlmCallsLimitExceededError",
    "RunConfig",
    "Session",
    "new_invocation_context_id",
]

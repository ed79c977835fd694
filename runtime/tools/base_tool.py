"""The contract of a tool: its declaration to the model and its execution, by the runtime or by the provider."""

from typing import Any

from runtime import types
from runtime.artifacts.referenced_artifacts import is_shown, load_references
from runtime.context import Context, session_args
from runtime.context import Context as ToolContext  # programs import it from here
from runtime.models.llm_request import LlmRequest
from runtime.tools.tool_configs import ToolArgsConfig
from runtime.tools.tool_result import ToolError, files_in


def is_reserved(name: str) -> bool:
    """Return True for names of the runtime's own tools and requests, whose calls no tool from outside may take over."""
    return name in ("transfer_to_agent", "set_model_response") or name.startswith("adk_")


class BaseTool:
    """A function for a model to call, or a change to every request of an agent.

    Attributes:
        name: the name in the model's calls; unique among the tools of an agent.
        title: a phrase for people, in the imperative and with arguments in braces: "Look up order {order_id}". Not
            part of the declaration.
        description: text for the model to decide whether to call the tool.
        is_long_running: True if a call may be answered later, from outside (contract T5).
        answered_by: the party that may answer a long-running call from outside: see `LongRunningFunctionTool`.
        custom_metadata: data of the tool's author, not used by the runtime.
        may_allow_for_session: True if the person may allow later calls of the session with the confirmation.
        confirmed_by: the party that may confirm a call: see `FunctionTool`.
        can_run_in_job: False for a tool that works on the request or on the running invocation.
        stands_for_others: True for a tool by which a toolset gets those that it cannot list yet. No filter leaves it
            out.
    """

    title: str | None = None
    answered_by: str = "site"
    may_allow_for_session: bool = False
    confirmed_by: str = "person"
    can_run_in_job: bool = True
    stands_for_others: bool = False

    def __init__(
        self,
        *,
        name: str,
        description: str,
        is_long_running: bool = False,
        custom_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.is_long_running = is_long_running
        self.custom_metadata = custom_metadata

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> "BaseTool":
        """Return the tool described in an agent's YAML file; by default, call the class with the arguments.

        Args:
            config: the `args` in the file.
            config_abs_path: path of the file.
        """
        return cls(**dict(config))

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        """Return the declaration for the model; None for a tool not called by the model."""
        return None

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        """Return True if a person must confirm this call before it is executed (contract T7)."""
        return False

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Execute a call. `tool_result.as_response` converts the result for the model.

        Raises:
            NotImplementedError: the tool cannot be called.
        """
        raise NotImplementedError(
            f"Tool {self.name!r} does not implement `run_async`, so it cannot be called."
        )

    def display_text(self, result: Any) -> str | None:
        """Return a text to show the result to the person if no model call follows; None to show nothing."""
        return None

    async def is_ready_for_job(self, *, tool_context: Context) -> bool:
        """Return False if the person was asked for something that the job needs; the call then runs again."""
        return True

    async def run_in_job(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Execute a call as a background job, where an exception may cause a retry.

        By default, call `run_async`; a result that holds only an `error` fails the job (see `job_result`).
        """
        return job_result(await self.run_async(args=args, tool_context=tool_context))

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Change the request before each model call; by default, declare the tool and show files (contract Q13)."""
        llm_request.append_tools([self])
        await self.show_files(tool_context=tool_context, llm_request=llm_request)

    async def show_files(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Add the files in the latest results to the request, for the model to see."""
        references: list[types.Part] = []
        for response in llm_request.latest_responses(self.name):
            references += [file.as_part() for file in files_in(response) if is_shown(file.mime_type)]
        if references:
            content = types.Content(role="user", parts=references)
            invocation = tool_context.invocation
            args = session_args(invocation.session)
            llm_request.contents += await load_references(invocation.artifact_service, args, [content], [0])


def job_result(result: Any) -> Any:
    """Return the result of a job. A dict with nothing but an `error` becomes a `ToolError`."""
    if isinstance(result, dict) and result.keys() == {"error"} and result["error"]:
        return ToolError(str(result["error"]))
    return result


class ModelSideTool(BaseTool):
    """Tool that the model's provider executes: an entry in the request, never called by the runtime (contract T9).

    The entry stands apart from the function declarations (contract Q13).
    """

    def __init__(self, *, name: str, description: str, tool: types.Tool) -> None:
        super().__init__(name=name, description=description)
        self._tool = tool

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        tools = llm_request.config.tools or []
        # A copy: callbacks may edit the request, and the tool object is shared by all sessions.
        llm_request.config.tools = [*tools, self._tool.model_copy()]

"""LlmRequest: the input of a model call, with the settings of the provider's context cache."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from runtime import types
from runtime._pydantic_models import construct
from runtime.valid_text import valid_text


class ContextCacheConfig(BaseModel):
    """Settings of an app for providers that cache contents.

    Attributes:
        cache_intervals: number of requests that may use a cached context before it is replaced.
        ttl_seconds: time for which the provider keeps a cached context.
        min_tokens: minimum size of a cached context, estimated from its bytes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cache_intervals: int = Field(default=10, ge=1, le=100)
    ttl_seconds: int = Field(default=1800, gt=0)
    min_tokens: int = Field(default=0, ge=0)


class DeclaredTool(Protocol):
    """Tool as a request declares it to the model. Implemented by `BaseTool`."""

    @property
    def name(self) -> str: ...

    @property
    def is_long_running(self) -> bool: ...

    def _get_declaration(self) -> types.FunctionDeclaration | None: ...


class LlmRequest(BaseModel):
    """Input of a model call; callbacks and tools may change it before it is sent (contract M1, Q13).

    Attributes:
        model: the model's name; None leaves it to the `BaseLlm`.
        contents: the events as sent to the model.
        config: all other parameters of the call. The request owns the object, so it may be changed in place.
        tools_dict: tools that the model may call, by name; not sent.
        cache_config: settings for the provider's context cache; None leaves caching to the provider.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    model: str | None = None
    contents: list[types.Content] = Field(default_factory=list)
    config: types.GenerateContentConfig = Field(default_factory=types.GenerateContentConfig)
    tools_dict: SkipValidation[dict[str, DeclaredTool]] = Field(default_factory=dict, exclude=True)
    cache_config: ContextCacheConfig | None = None

    def append_instructions(self, instructions: list[str]) -> None:
        """Append paragraphs to the system instruction, separated by blank lines."""
        text = valid_text("\n\n".join(instructions))
        current = self.config.system_instruction
        if not text:
            return
        if not current:
            self.config.system_instruction = text
        elif isinstance(current, str):
            self.config.system_instruction = f"{current}\n\n{text}"
        elif isinstance(current, types.Content):
            parts = [*(current.parts or []), types.Part(text=text)]
            # Do not change the content in place: the agent's own configuration may hold the same object.
            self.config.system_instruction = current.model_copy(update={"parts": parts})
        elif isinstance(current, list):
            self.config.system_instruction = [*current, text]
        else:
            self.config.system_instruction = [current, text]

    def append_tools(self, tools: Sequence[DeclaredTool]) -> None:
        """Declare tools: all function declarations share one `types.Tool`, other tools stay separate (contract Q13).

        A tool without a declaration cannot be called by name; it changes the request itself.
        """
        declarations: list[types.FunctionDeclaration] = []
        for tool in tools:
            declaration = tool._get_declaration()
            if declaration is not None:
                declarations.append(declaration)
                self.tools_dict[tool.name] = tool
        if declarations:
            self._declare(declarations)

    def latest_responses(self, tool_name: str) -> list[dict[str, Any]]:
        """Return a tool's responses since the model's last content. Contents of other tools may follow them."""
        found: list[dict[str, Any]] = []
        # From the end: every tool of every request looks, and a history may be long.
        for content in reversed(self.contents):
            if content.role == "model":
                break
            for part in reversed(content.parts or []):
                if part.function_response and part.function_response.name == tool_name:
                    found.append(part.function_response.response or {})
        found.reverse()
        return found

    def set_output_schema(self, schema: types.SchemaUnion) -> None:
        """Ask for JSON that follows a pydantic model, a type such as `list[Model]`, or a `types.Schema`."""
        self.config.response_schema = schema
        self.config.response_mime_type = "application/json"

    def _declare(self, declarations: list[types.FunctionDeclaration]) -> None:
        tools = list(self.config.tools or [])
        for index, tool in enumerate(tools):
            if isinstance(tool, types.Tool) and tool.function_declarations:
                # A copy: the agent's own configuration may hold the same object.
                merged = [*tool.function_declarations, *declarations]
                tools[index] = tool.model_copy(update={"function_declarations": merged})
                break
        else:
            tools.append(construct(types.Tool, function_declarations=declarations))
        self.config.tools = tools

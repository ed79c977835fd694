"""GlobalInstructionPlugin: one instruction for every agent of an app."""

from runtime import types
from runtime.context import Context
from runtime.models.llm_request import LlmRequest
from runtime.plugins.base_plugin import BasePlugin
from runtime.utils.instructions_utils import InstructionProvider, render_instruction


class GlobalInstructionPlugin(BasePlugin):
    """Puts an instruction before the system instruction of every model call.

    Args:
        global_instruction: a template (contract A3), or a function from a `ReadonlyContext` to the text.
    """

    def __init__(
        self, global_instruction: str | InstructionProvider = "", name: str = "global_instruction"
    ) -> None:
        super().__init__(name)
        self.global_instruction = global_instruction

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        """Prepend the instruction.

        Raises:
            KeyError: the template names a key missing in the state.
        """
        text = await render_instruction(self.global_instruction, callback_context)
        if text:
            llm_request.config.system_instruction = _prepend(text, llm_request.config.system_instruction)


def _prepend(text: str, current: types.ContentUnion | None) -> types.ContentUnion:
    if not current or isinstance(current, str):
        return f"{text}\n\n{current}" if current else text
    if isinstance(current, types.Content):
        return current.model_copy(update={"parts": [types.Part(text=text), *(current.parts or [])]})
    return [text, *(current if isinstance(current, list) else [current])]

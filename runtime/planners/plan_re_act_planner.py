"""Planning in plain text, for any model: plan, act, reason, answer (contract A2)."""

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.models.llm_request import LlmRequest
from runtime.planners.base_planner import BasePlanner

PLANNING_TAG = "/*PLANNING*/"
REPLANNING_TAG = "/*REPLANNING*/"
REASONING_TAG = "/*REASONING*/"
ACTION_TAG = "/*ACTION*/"
FINAL_ANSWER_TAG = "/*FINAL_ANSWER*/"

_THOUGHT_TAGS = (PLANNING_TAG, REPLANNING_TAG, REASONING_TAG, ACTION_TAG)

_INSTRUCTION = f"""\
Work in stages, and open each stage with its tag on a line of its own.

{PLANNING_TAG} Begin with a numbered plan that covers everything the person asked for. Each step names the tools it \
needs; plan only with the tools you were given.
{ACTION_TAG} Carry out the next step of the plan by calling tools. Pass only parameters that they declare.
{REASONING_TAG} When results arrive, say in short what is known now, what is missing, and which step follows.
{REPLANNING_TAG} When the results show that the plan cannot work, write a better one from what you have learned.
{FINAL_ANSWER_TAG} When nothing is missing, give one final answer, as exact as the question and in the form it asks \
for.

Use what the conversation tells already before you call a tool again, and tools before your memory. If the question \
is unclear, or cannot be answered with these tools, say so in the final answer and ask for what you need."""


class PlanReActPlanner(BasePlanner):
    """Makes the model write plan and reasoning under tags, and marks both as thoughts.

    Works with models without built-in thinking.
    """

    def build_planning_instruction(self, readonly_context: ReadonlyContext, llm_request: LlmRequest) -> str:
        # Earlier plans go to the model as plain text, not as thoughts: it has to follow them.
        llm_request.contents = [_without_thought_marks(content) for content in llm_request.contents]
        return _INSTRUCTION

    def process_planning_response(
        self, callback_context: Context, response_parts: list[types.Part]
    ) -> list[types.Part] | None:
        """Return plan and reasoning as untagged thoughts, the answer, and the first run of function calls.

        Drop parts after the calls, and calls without a name.
        """
        pieces: list[types.Part] = []
        calls: list[types.Part] = []
        for part in response_parts:
            if part.function_call:
                if part.function_call.name:
                    calls.append(part)
            elif calls:
                # The model wrote this without the results of the calls.
                break
            else:
                pieces += _split_final_answer(part)
        return pieces + calls


def _split_final_answer(part: types.Part) -> list[types.Part]:
    """Split a text part at the final answer tag; turn the text before the tag into a thought."""
    if not part.text or part.thought:
        return [part]
    before, tag, answer = part.text.rpartition(FINAL_ANSWER_TAG)
    if tag:
        pieces = _as_thought(types.Part(text=before))
        if answer:
            pieces.append(part.model_copy(update={"text": answer}))
        return pieces
    if part.text.lstrip().startswith(_THOUGHT_TAGS):
        return _as_thought(part)
    return [part]


def _as_thought(part: types.Part) -> list[types.Part]:
    """Return the part as a thought without tags; an empty list if there is nothing but tags."""
    # Models refuse empty parts.
    text = part.text or ""
    for tag in (*_THOUGHT_TAGS, FINAL_ANSWER_TAG):
        text = text.replace(tag, "")
    if not text.strip():
        return []
    return [part.model_copy(update={"text": text, "thought": True})]


def _without_thought_marks(content: types.Content) -> types.Content:
    parts = content.parts or []
    if not any(part.thought for part in parts):
        return content
    plain = [part.model_copy(update={"thought": None}) if part.thought else part for part in parts]
    return content.model_copy(update={"parts": plain})

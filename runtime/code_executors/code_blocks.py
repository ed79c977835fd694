"""Code in the parts of a model's answer, and code parts as text for models without code execution."""

from collections.abc import Sequence

from runtime import types

Delimiters = tuple[str, str]


def split_at_code(parts: Sequence[types.Part], delimiters: Sequence[Delimiters]) -> list[types.Part] | None:
    """Return the parts up to the first code, which becomes a code part; None without code."""
    for index, part in enumerate(parts):
        if part.executable_code and not _has_result(parts, index):
            return list(parts[: index + 1])
        # Code in a thought is a draft.
        if not part.text or part.thought:
            continue
        block = _first_block(part.text, delimiters)
        if block is not None:
            before, code = block
            kept = list(parts[:index])
            if before:
                kept.append(part.model_copy(update={"text": before}))
            kept.append(types.Part.from_executable_code(code=code, language=types.Language.PYTHON))
            return kept
    return None


def trailing_code(content: types.Content | None) -> str | None:
    """Return the code at the end of the content, which has not run yet, or None."""
    if not content or not content.parts or not content.parts[-1].executable_code:
        return None
    return content.parts[-1].executable_code.code


def code_as_text(
    contents: Sequence[types.Content], code: Delimiters, result: Delimiters
) -> list[types.Content]:
    """Return the contents with code and results as delimited text; a result gets the role of the user."""
    return [_content_as_text(content, code, result) for content in contents]


def _has_result(parts: Sequence[types.Part], index: int) -> bool:
    return index + 1 < len(parts) and parts[index + 1].code_execution_result is not None


def _first_block(text: str, delimiters: Sequence[Delimiters]) -> tuple[str, str] | None:
    blocks = []
    for lead, trail in delimiters:
        before, found_lead, rest = text.partition(lead)
        code, found_trail, _ = rest.partition(trail)
        if found_lead and found_trail:
            blocks.append((len(before), code))
    if not blocks:
        return None
    # The block that begins first, whichever notation it has.
    start, code = min(blocks)
    return (text[:start], code) if code else None


def _content_as_text(content: types.Content, code: Delimiters, result: Delimiters) -> types.Content:
    parts = content.parts or []
    if not any(part.executable_code or part.code_execution_result for part in parts):
        return content
    # Models expect the output of code from the user's side.
    is_result = len(parts) == 1 and parts[0].code_execution_result is not None
    converted = [_part_as_text(part, code, result) for part in parts]
    return types.Content(role="user" if is_result else content.role, parts=converted)


def _part_as_text(part: types.Part, code: Delimiters, result: Delimiters) -> types.Part:
    if part.executable_code:
        return types.Part(text=f"{code[0]}{part.executable_code.code or ''}{code[1]}")
    if part.code_execution_result:
        return types.Part(text=f"{result[0]}{part.code_execution_result.output or ''}{result[1]}")
    return part

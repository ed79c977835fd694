"""Run a few texts and print the events, for a first try of an agent."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing

from runtime import types
from runtime.events.calls import parts_of
from runtime.events.event import Event

MAX_VALUE_LENGTH = 100
"""Limit of printed arguments, results and outputs, in characters."""
Run = Callable[..., AsyncGenerator[Event, None]]


async def run_texts(run: Run, texts: str | list[str], *, quiet: bool, verbose: bool) -> list[Event]:
    """Call `run` with each text as `new_message`; print the events unless `quiet`, and return them."""
    collected = []
    for text in [texts] if isinstance(texts, str) else texts:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async with aclosing(run(new_message=message)) as events:
            async for event in events:
                collected.append(event)
                if not quiet:
                    for line in event_lines(event, verbose=verbose):
                        print(f"{event.author} > {line}")
    return collected


def event_lines(event: Event, *, verbose: bool) -> Iterator[str]:
    """Yield the lines to print for an event: its text, without thoughts, and if `verbose` all of its parts."""
    texts: list[str] = []
    for part in parts_of(event):
        if part.text and (verbose or not part.thought):
            texts.append(part.text)
        elif verbose:
            line = _line_of(part)
            if line:
                yield from _take_line(texts)
                yield line
    yield from _take_line(texts)


def _take_line(texts: list[str]) -> Iterator[str]:
    """Yield the collected texts as a line, and clear the list."""
    if texts:
        yield "".join(texts)
        texts.clear()


def _line_of(part: types.Part) -> str:
    if part.function_call:
        return f"[Calling tool: {part.function_call.name}({_shorten_value(part.function_call.args)})]"
    if part.function_response:
        return f"[Tool result: {_shorten_value(part.function_response.response)}]"
    if part.executable_code:
        return "[Executing code]"
    if part.code_execution_result:
        return f"[Code output: {_shorten_value(part.code_execution_result.output)}]"
    if part.inline_data:
        return f"[Inline data: {part.inline_data.mime_type}]"
    if part.file_data:
        return f"[File: {part.file_data.file_uri}]"
    return ""


def _shorten_value(value: object) -> str:
    text = str(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}..."

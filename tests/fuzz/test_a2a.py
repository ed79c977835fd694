"""Items and messages of other agents by A2A: each is read, or refused with an error of its own kind."""

from __future__ import annotations

from typing import Any

from a2a.types import Message, Part, StreamResponse
from a2a.utils.proto_utils import parse_lenient
from google.protobuf.json_format import ParseError
from hypothesis import given
from hypothesis import strategies as st

from runtime import types
from runtime.a2a.errors import RemoteAgentError
from runtime.a2a.parts import function_call_in, function_response_in, to_a2a, to_genai
from runtime.a2a.reply import Reply
from sessions_app.contrib.a2a.incoming import files_of, text_of
from tests.fuzz.profile import examples
from tests.fuzz.values import texts

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
metadata = st.dictionaries(st.sampled_from(["adk_type", "adk_is_long_running", "adk_thought"]), values)
calls = st.fixed_dictionaries({}, optional={"id": values, "name": values, "args": values, "response": values})
parts = st.fixed_dictionaries(
    {},
    optional={
        "text": texts | values,
        "url": texts,
        "data": values | calls,
        "raw": texts,
        "metadata": metadata,
    },
)
messages = st.fixed_dictionaries({"parts": st.lists(parts | values, max_size=4)}, optional={"role": values})
states = st.sampled_from(
    ["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED", "NONE", 7, -1]
)
statuses = st.fixed_dictionaries({"state": states}, optional={"message": messages})
artifacts = st.fixed_dictionaries({"artifactId": texts, "parts": st.lists(parts, max_size=3)})
items = st.one_of(
    st.fixed_dictionaries({"message": messages | values}),
    st.fixed_dictionaries({"statusUpdate": st.fixed_dictionaries({"status": statuses})}),
    st.fixed_dictionaries(
        {"artifactUpdate": st.fixed_dictionaries({"artifact": artifacts}, optional={"append": st.booleans()})}
    ),
    st.fixed_dictionaries(
        {
            "task": st.fixed_dictionaries(
                {"id": texts, "status": statuses}, optional={"artifacts": st.lists(artifacts, max_size=3)}
            )
        }
    ),
)


def parsed(item: Any, kind: Any) -> Any:
    """Return the message of the protocol, as the SDK reads it; None for what it refuses."""
    try:
        return parse_lenient(item, kind())
    except (
        ParseError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        SystemError,
    ):  # RemoteClient names them.
        return None


@examples(200)
@given(st.lists(items, max_size=6))
def test_any_items_of_a_stream_make_a_reply(stream: list[Any]) -> None:
    reply = Reply()
    for item in stream:
        read = parsed(item, StreamResponse)
        if read is not None:
            try:
                reply.add(read)
            except RemoteAgentError:
                return
    for part in reply.parts:
        assert isinstance(function_call_in(part), types.FunctionCall | None)
        shown = to_genai(part)
        assert isinstance(shown and to_a2a(shown), Part | None)


@examples(200)
@given(messages)
def test_any_message_has_a_text_and_files(message: Any) -> None:
    read = parsed(message, Message)
    if read is not None:
        assert isinstance(text_of(read), str)
        assert all(isinstance(file.data, bytes) for file in files_of(read))
        for part in read.parts:
            assert isinstance(function_response_in(part), types.FunctionResponse | None)

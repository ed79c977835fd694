"""Recording of events as the invocations of an eval case."""

from runtime import types
from runtime.evaluation.eval_case import IntermediateData, Invocation
from runtime.events.calls import FRAMEWORK_CALLS, parts_of
from runtime.events.event import Event


class InvocationRecording:
    """An invocation, recorded from its committed events. The framework's questions to the user are left out."""

    def __init__(self, message: types.Content, invocation_id: str, timestamp: float) -> None:
        self._data = IntermediateData()
        self.invocation = Invocation(
            invocation_id=invocation_id,
            user_content=message,
            intermediate_data=self._data,
            creation_timestamp=timestamp,
        )

    def add(self, event: Event) -> None:
        data = self._data
        self._count(event)
        for call in event.get_function_calls():
            if call.name not in FRAMEWORK_CALLS:
                data.tool_uses.append(call)
        for response in event.get_function_responses():
            if response.name not in FRAMEWORK_CALLS:
                data.tool_responses.append(response)
        if event.is_final_response() and event.text():
            self.invocation.final_response = event.content
        elif event.text():
            data.intermediate_responses.append((event.author, parts_of(event)))

    def _count(self, event: Event) -> None:
        """Count the model call of an event; events of functions and of the framework have none."""
        usage = event.usage_metadata
        if usage is None and event.model_version is None:
            return
        invocation = self.invocation
        invocation.inference_calls = (invocation.inference_calls or 0) + 1
        if usage and usage.total_token_count is not None:
            invocation.tokens = (invocation.tokens or 0) + usage.total_token_count


class SessionRecording:
    """All invocations of a session, recorded from its events in order.

    An invocation begins with a user's message; answers to calls do not begin an invocation.
    """

    def __init__(self) -> None:
        self._recordings: dict[str, InvocationRecording] = {}

    @property
    def invocations(self) -> list[Invocation]:
        return [recording.invocation for recording in self._recordings.values()]

    def add(self, event: Event) -> None:
        """Add a committed event to its invocation; ignore events before the first message."""
        known = self._recordings.get(event.invocation_id)
        if event.author != "user":
            if known:
                known.add(event)
        elif known is None and event.content and event.content.parts and not event.get_function_responses():
            self._recordings[event.invocation_id] = InvocationRecording(
                event.content, event.invocation_id, event.timestamp
            )

"""Events: the ordered, immutable records of a session."""

from runtime.events.event import Event
from runtime.events.event_actions import EventActions, EventCompaction
from runtime.events.node_info import NodeInfo
from runtime.events.request_input import RequestInput
from runtime.events.tool_confirmation import ToolConfirmation

__all__ = ["Event", "EventActions", "EventCompaction", "NodeInfo", "RequestInput", "ToolConfirmation"]

"""Events without the parts hidden from their person: credentials, and the app's state, shared by all people."""

import json
from typing import Any

from runtime.events.event import Event as RuntimeEvent
from runtime.sessions.state import State
from sessions_app.base.codec import event_to_show, json_object
from sessions_app.secrets.masking import mask_keys

_CREDENTIALS = ('AuthCredential"', '"authType"', '"auth_type"')
"""The JSON of an event with a credential contains at least one of these texts."""


def public_body(body: str) -> str:
    """Return an event's JSON without app state, and with masked credentials."""
    # Parse only events with something to leave out: most have neither, and their stored text is sent as it is.
    has_app_state = f'"{State.APP_PREFIX}' in body
    has_credential = any(mark in body for mark in _CREDENTIALS)
    if not has_app_state and not has_credential:
        return body
    values = without_app_state(json.loads(body))
    if has_credential:
        values = mask_keys(values)
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def public_event(body: str, event: RuntimeEvent) -> RuntimeEvent:
    """Return an event without app state, and with masked credentials.

    Args:
        body: JSON of the event.
    """
    shown = public_body(body)
    return event if shown is body else event_to_show(json.loads(shown))


def without_app_state(body: Any) -> Any:
    """Return the values of an event's JSON without changes of the app's state."""
    delta = json_object(body, "actions", "stateDelta")
    if not any(key.startswith(State.APP_PREFIX) for key in delta):
        return body
    own = {key: value for key, value in delta.items() if not key.startswith(State.APP_PREFIX)}
    return {**body, "actions": {**body["actions"], "stateDelta": own}}

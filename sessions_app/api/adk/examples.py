"""Examples of bodies for the document of the API for ADK's clients, by schema or operation."""

from __future__ import annotations

import json
from typing import Any

_OPERATION = "sessions_app_api_adk_"

_EVENT: dict[str, Any] = {
    "id": "2f6e8d0c-7a41-4b3f-9c5e-8d1b0a7f6e24",
    "invocationId": "e-6d1f2c9a-8e0b-4c57-b7a4-0d8a2c5e9f31",
    "author": "help_desk",
    "content": {"role": "model", "parts": [{"text": "Your refund is on its way."}]},
    "actions": {"stateDelta": {}, "artifactDelta": {}},
    "timestamp": 1777885931.5,
}
_AGENT = {"name": "help_desk", "description": "Answers questions about orders."}
EXAMPLES: dict[str, Any] = {
    "AgentTree": {"name": "help_desk", "root_agent": {**_AGENT, "sub_agents": []}},
    "Version": {"version": "2.13.0", "language": "python", "language_version": "3.13.1"},
    "Telemetry": {"telemetry": False},
    "SessionJson": {
        "id": "s-1",
        "appName": "help_desk",
        "userId": "ada",
        "state": {"order": 1042},
        "events": [_EVENT],
        "lastUpdateTime": 1777885931.5,
    },
    "NewSession": {"sessionId": "s-1", "state": {"order": 1042}},
    "StateChange": {"stateDelta": {"order": 1043}},
    "ArtifactVersion": {
        "version": 0,
        "canonicalUri": "/adk/apps/help_desk/users/ada/sessions/s-1/artifacts/invoice.pdf/versions/0",
        "customMetadata": {},
        "createTime": 1777885927.0,
        "mimeType": "application/pdf",
    },
    "RememberedSession": {"sessionId": "s-1"},
    "Memories": {"memories": [{"content": _EVENT["content"], "author": "help_desk"}]},
    f"{_OPERATION}about_list_apps": ["help_desk"],
    f"{_OPERATION}sessions_create_session_with_id": {"order": 1042},
    f"{_OPERATION}artifacts_list_artifact_names": ["invoice.pdf"],
    f"{_OPERATION}artifacts_list_artifact_versions": [0, 1],
    f"{_OPERATION}traces_session_trace": [
        {
            "name": "call_llm",
            "span_id": 8127043316205581,
            "trace_id": 4417302981165,
            "parent_span_id": None,
            "start_time": 1777885927204000000,
            "end_time": 1777885931500000000,
            "attributes": {"gen_ai.request.model": "gemini-flash"},
        }
    ],
    "run": [_EVENT],
    "run_sse": f"data: {json.dumps(_EVENT)}\n\n",
}

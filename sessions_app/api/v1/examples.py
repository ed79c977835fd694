"""Examples of bodies for the document of the site's own API: one conversation about a refund, by schema."""

from __future__ import annotations

from typing import Any

SESSION, RUN = "0b9c5f3e-5d0c-4b7e-9a51-3f1f6f1f2a10", "e-6d1f2c9a-8e0b-4c57-b7a4-0d8a2c5e9f31"
JOB = "7c1d4b52-93f0-4f0e-8f4d-2b6a1c9e8d77"
KEY, WEBHOOK = "4e8b2f6a-0c3d-4f1e-b5a7-9d2c6e8f1a30", "9a7e3c1b-5f2d-4b8e-a6c0-1d4f7b9e2c58"
ASKED, STARTED, ENDED = "2026-05-04T09:12:07Z", "2026-05-04T09:12:07.204Z", "2026-05-04T09:12:11.862Z"
LATER = "2026-08-01T00:00:00Z"

_SESSION = {
    "session_id": SESSION,
    "user_id": "7",
    "app": "help_desk",
    "title": "Refund of order 1042",
    "is_pinned": False,
    "is_archived": False,
    "created_at": ASKED,
    "updated_at": ENDED,
    "last_seq": 2,
    "is_unread": True,
    "is_busy": False,
    "needs_answer": False,
}
_EVENT = {
    "id": "2f6e8d0c-7a41-4b3f-9c5e-8d1b0a7f6e24",
    "invocationId": RUN,
    "author": "help_desk",
    "content": {"role": "model", "parts": [{"text": "Your refund is on its way."}]},
    "actions": {},
    "timestamp": 1777885931.5,
}
_RUN = {
    "run_id": RUN,
    "session_id": SESSION,
    "client_id": "order-1042-refund",
    "status": "completed",
    "error": None,
    "created_at": ASKED,
    "started_at": STARTED,
    "finished_at": ENDED,
}
_QUESTION = {"number": 0, "text": "Which year?", "kind": "choice", "options": ["2025", "2026"]}
_JOB = {
    "job_id": JOB,
    "session_id": SESSION,
    "run_id": RUN,
    "call_id": "adk-51c0f7de",
    "tool": "write_report",
    "agent": "help_desk",
    "status": "waiting",
    "progress": {"done": 3, "total": 12, "percent": 25, "message": "March"},
    "question": _QUESTION,
    "error": "",
    "files": {"march.csv": 0},
    "is_stop_requested": False,
    "created_at": ASKED,
    "run_at": None,
    "started_at": STARTED,
    "finished_at": None,
}
_FILE = {
    "name": "invoice.pdf",
    "version": 0,
    "mime_type": "application/pdf",
    "size": 48213,
    "sha256": "9f2c6a0b4d8e1f73" * 4,
    "is_upload": True,
    "created_at": ASKED,
}
_KEY = {
    "id": KEY,
    "name": "Laptop",
    "prefix": "adk_Zt4k",
    "scopes": ["read", "run"],
    "people": None,
    "requests_per_minute": 60,
    "tokens_per_day": 200000,
    "created_at": ASKED,
    "expires_at": LATER,
    "last_used_at": ENDED,
    "revoked_at": None,
}
_WEBHOOK = {
    "id": WEBHOOK,
    "user_id": "7",
    "url": "https://shop.example/agents",
    "events": ["run.ended", "approval.needed"],
    "created_at": ASKED,
    "disabled_at": None,
    "disabled_reason": "",
}
_STREAM = f"""event: status
data: {{"last_seq": 1, "run": {{"run_id": "{RUN}", "status": "running"}}}}

event: text
data: {{"run_id": "{RUN}", "event_id": "2f6e8d0c", "author": "help_desk", "offset": 0, "text": "Your"}}

event: end
data: {{"reason": "ended", "run_id": "{RUN}", "status": "completed", "error": null}}

"""
EXAMPLES: dict[str, Any] = {
    "Account": {"user_id": "7", "username": "ada", "key": "adk_Zt4k", "scopes": ["read", "run"]},
    "AppSummary": {"name": "help_desk", "description": "Answers questions about orders."},
    "SessionSummary": _SESSION,
    "NewSession": {"app": "help_desk", "session_id": SESSION},
    "SessionChange": {"title": "Refund of order 1042", "is_pinned": True},
    "State": {"state": {"order": 1042, "user:language": "en"}},
    "Fork": {"after_seq": 2, "alternatives": [3, 9], "in_effect": 9},
    "Switch": {"seq": 3},
    "EventPage": {"items": [{"seq": 2, "event": _EVENT}], "next": None},
    "Feedback": {"rating": "good", "comment": "Quick, and right."},
    "Run": _RUN,
    "NewRun": {
        "text": "Where is my refund?",
        "files": [{"name": "invoice.pdf", "version": 0}],
        "client_id": "order-1042-refund",
    },
    "RunAnswer": {"call_id": "adk-51c0f7de", "response": {"status": "approved"}},
    "Approval": {
        "approval_id": 31,
        "session_id": SESSION,
        "session_title": "Refund of order 1042",
        "run_id": RUN,
        "call_id": "adk-51c0f7de",
        "job_id": None,
        "kind": "confirmation",
        "agent": "help_desk",
        "tool": "refund",
        "effect": "Refunds order 1042.",
        "question": None,
        "asked_at": ASKED,
    },
    "ApprovalAnswer": {"confirmed": True, "changes": {"amount": 20}},
    "Job": _JOB,
    "WholeJob": {**_JOB, "arguments": {"months": 12}, "result": None},
    "JobAnswer": {"number": 0, "answer": "2026"},
    "Schedule": {
        "schedule_id": 12,
        "session_id": SESSION,
        "agent": "help_desk",
        "task": "Tell me about the orders of the last week.",
        "status": "active",
        "next_at": "2026-05-11T07:00:00Z",
        "every": "FREQ=WEEKLY",
        "time_zone": "Europe/Zurich",
        "runs": 3,
        "created_at": ASKED,
        "last_run_at": "2026-05-04T07:00:00Z",
        "error": "",
    },
    "StoredFile": _FILE,
    "KeySummary": _KEY,
    "NewKey": {"name": "Laptop", "scopes": ["read", "run"], "expires_at": LATER},
    "KeyWithSecret": {**_KEY, "last_used_at": None, "key": "adk_Zt4k…"},
    "WebhookSummary": _WEBHOOK,
    "NewWebhook": {"url": "https://shop.example/agents", "events": ["run.ended", "approval.needed"]},
    "WebhookWithSecret": {**_WEBHOOK, "secret": "whsec_…"},
    "Delivery": {
        "id": 5120,
        "message_id": "1f6b0c2d-7e4a-4c93-8b1d-5a9f2e6c7d30",
        "event": "run.ended",
        "subject": RUN,
        "attempts": 1,
        "response_status": 204,
        "error": "",
        "created_at": ENDED,
        "delivered_at": "2026-05-04T09:12:12.410Z",
        "next_at": None,
    },
    "stream_session": _STREAM,
    "stream_run": _STREAM,
}

"""Rows of the access matrix for the site's own addresses; `test_access.py` explains the columns."""

from __future__ import annotations

from typing import Any

from tests.integration.access import APP

ROWS = """
GET    read    200      200   /api/v1/sessions
GET    read    200      200   /api/v1/sessions/search
POST   manage  201      201   /api/v1/sessions
GET    read    404      200   /api/v1/sessions/{session_id}
PATCH  manage  404      200   /api/v1/sessions/{session_id}
DELETE manage  404      409   /api/v1/sessions/{session_id}
POST   manage  404      200   /api/v1/sessions/{session_id}/restore
GET    read    404      200   /api/v1/sessions/{session_id}/state
GET    read    404      200   /api/v1/sessions/{session_id}/alternatives
POST   run     404      409   /api/v1/sessions/{session_id}/switch
GET    read    404      200   /api/v1/sessions/{session_id}/export

GET    read    404      200   /api/v1/sessions/{session_id}/events
PUT    run     404      204   /api/v1/sessions/{session_id}/events/{seq}/feedback
DELETE run     404      204   /api/v1/sessions/{session_id}/events/{seq}/feedback

GET    read    404      200   /api/v1/sessions/{session_id}/runs
POST   run     404      202   /api/v1/runs/{run_id}/cancel
POST   run     404      409   /api/v1/runs/{run_id}/retry
POST   run     404      409   /api/v1/runs/{run_id}/edit
POST   run     404      409   /api/v1/runs/{run_id}/rewind
POST   answer  404      202   /api/v1/runs/{run_id}/responses

GET    read    200      200   /api/v1/approvals
POST   answer  404      204   /api/v1/approvals/{approval_id}/answer

GET    read    404      200   /api/v1/sessions/{session_id}/jobs
GET    read    404      200   /api/v1/jobs/{job_id}
POST   read+run 404     202   /api/v1/jobs/{job_id}/cancel
POST   read+answer 404  409   /api/v1/jobs/{job_id}/answer

GET    read    404      200   /api/v1/sessions/{session_id}/schedules
POST   manage  404      200   /api/v1/schedules/{schedule_id}/cancel

GET    read    404      200   /api/v1/sessions/{session_id}/files
POST   run     404      201   /api/v1/sessions/{session_id}/files
GET    read    404      200   /api/v1/sessions/{session_id}/files/{name}
DELETE run     404      204   /api/v1/sessions/{session_id}/files/{name}

"""
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/api/v1/sessions"): {"app": APP},
    ("PATCH", "/api/v1/sessions/{session_id}"): {"title": "Orders"},
    ("POST", "/api/v1/sessions/{session_id}/switch"): {"seq": 99},
    ("PUT", "/api/v1/sessions/{session_id}/events/{seq}/feedback"): {"rating": "good"},
    ("POST", "/api/v1/runs/{run_id}/edit"): {"text": "Hello", "client_id": "m-3"},
    ("POST", "/api/v1/runs/{run_id}/responses"): {"call_id": "c-confirm", "confirmed": True},
    ("POST", "/api/v1/approvals/{approval_id}/answer"): {"confirmed": True},
    ("POST", "/api/v1/jobs/{job_id}/answer"): {"number": 0, "answer": True},
}
QUERIES = {
    ("GET", "/api/v1/sessions/search"): "q=hello",
    ("DELETE", "/api/v1/sessions/{session_id}/files/{name}"): "version=0",
}
UPLOADS = {("POST", "/api/v1/sessions/{session_id}/files")}
"""Operations whose body is a form with a file."""
SEGMENTS = {
    "approval_id": ("answerrequest", "pk"),
    "job_id": ("tooljob", "pk"),
    "schedule_id": ("scheduledtask", "pk"),
    "name": ("artifact", "filename"),
}
"""Model and attribute of the placeholders of the site's own addresses."""

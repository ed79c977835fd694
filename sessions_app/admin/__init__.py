"""Audit pages in the Django admin: read-only, except that running work may be stopped with a permission of its own."""

from sessions_app.admin.artifact import ArtifactAdmin
from sessions_app.admin.event import EventAdmin
from sessions_app.admin.invocation import InvocationAdmin
from sessions_app.admin.job import ToolJobAdmin
from sessions_app.admin.scheduled_task import ScheduledTaskAdmin
from sessions_app.admin.session import SessionAdmin
from sessions_app.admin.shared_state import AppStateAdmin, UserStateAdmin

__all__ = [
    "AppStateAdmin",
    "ArtifactAdmin",
    "EventAdmin",
    "InvocationAdmin",
    "ScheduledTaskAdmin",
    "SessionAdmin",
    "ToolJobAdmin",
    "UserStateAdmin",
]

"""What the admins of things that belong to a session share."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.links import session_link
from sessions_app.admin.read_only import ReadOnlyAdmin
from sessions_app.models import Artifact, Event, Invocation, ScheduledTask, ToolJob

OfSession = Artifact | Event | Invocation | ScheduledTask | ToolJob


class OfSessionAdmin(ReadOnlyAdmin):
    """Reads the session with each row, without its state, which may be large."""

    list_select_related: ClassVar[tuple[str, ...]] = ("session",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).defer("session__state", "session__initial_state")

    @admin.display(description=_("Session"))
    def of_session(self, row: OfSession) -> SafeString | None:
        return session_link(row.session) if row.session else None

    @admin.display(description=_("App"), ordering="session__app_name")
    def app(self, row: OfSession) -> str | None:
        return row.session.app_name if row.session else None

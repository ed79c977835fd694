"""Admin of feedback: what people think of answers."""

from __future__ import annotations

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.app_filter import AppFilter
from sessions_app.admin.base import OF_SESSION_IN_WORDS, SessionRowAdmin
from sessions_app.admin.keyset_list import KeysetAdmin
from sessions_app.admin.links import session_url
from sessions_app.models import Feedback
from sessions_app.rendering.audit_values import excerpt, status_badge


@admin.register(Feedback)
class FeedbackAdmin(KeysetAdmin, SessionRowAdmin):
    """Opinions of people, newest first."""

    text_columns = {**OF_SESSION_IN_WORDS, "short_comment": None, "comment": None}
    list_display = ("id", "badge", "short_comment", "of_session", "app", "answer", "user", "updated_at")
    list_filter = ("rating", AppFilter, "updated_at")
    list_select_related = ("session", "user")
    ordering = ("-id",)
    search_fields = ("comment", "session__title", "session__key")
    fields = ("badge", "comment", "of_session", "answer", "user", "created_at", "updated_at")

    @admin.display(description=_("Rating"), ordering="rating")
    def badge(self, row: Feedback) -> SafeString:
        return status_badge(row.rating)

    @admin.display(description=_("Comment"))
    def short_comment(self, row: Feedback) -> str:
        return excerpt(row.comment)

    @admin.display(description=_("Answer"))
    def answer(self, row: Feedback) -> SafeString:
        return format_html('<a href="{}">#{}</a>', session_url(row.session_id, seq=row.seq), row.seq)

"""Admin of feedback: ratings of answers and comments on them."""

from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import SESSION_COLUMNS_WITHOUT_TEXT, SessionRowAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import AppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import event_link
from sessions_app.models import Event, Feedback
from sessions_app.rendering.audit_values import excerpt, status_badge

MAX_ANSWER_LENGTH = 1_000


@admin.register(Feedback)
class FeedbackAdmin(KeysetAdmin, SessionRowAdmin):
    """Feedback, newest first."""

    text_columns = {
        **SESSION_COLUMNS_WITHOUT_TEXT,
        **dict.fromkeys(("short_comment", "comment", "answer_text")),
        "answer": "seq",
    }
    list_display = (
        "badge", "short_comment", "answer", "answer_text", "of_session", "app", "user", "updated_at",
    )  # fmt: skip
    list_filter = ("rating", AppFilter, "updated_at")
    list_select_related = ("session", "user")
    ordering = ("-id",)
    search_fields = ("comment",)
    fields = ("badge", "comment", "of_session", "answer", "user", "created_at", "updated_at")
    short_comment = shown_column("comment", _("Comment"))
    badge = shown_column("rating", _("Rating"), status_badge)

    def complete_rows(self, request: HttpRequest, rows: list[Any], query: str) -> None:
        """Add the text of the rated answer to each row, in one query."""
        answers = {}
        if rows:
            about = reduce(or_, (Q(session=row.session_id, seq=row.seq) for row in rows))
            texts = Event.objects.filter(about).values_list("session", "seq", Left("text", MAX_ANSWER_LENGTH))
            answers = {(session_id, seq): text for session_id, seq, text in texts}
        for row in rows:
            row.answer_text = answers.get((row.session_id, row.seq))

    @admin.display(description=_("Text of the answer"))
    def answer_text(self, row: Feedback) -> str:
        return excerpt(row.answer_text or "")  # type: ignore[attr-defined]

    @admin.display(description=_("Answer"))
    def answer(self, row: Feedback) -> SafeString:
        return event_link(row.session_id, row.seq)

"""Admin of evaluations, to view and stop them, and the export of annotated sessions as an eval set."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.defaultfilters import pluralize
from django.urls import URLPattern
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from runtime.evaluation.json_files import MAX_CASES
from sessions_app.admin.annotation import AnnotationAdmin
from sessions_app.admin.framework.confirmed_action import ConfirmedActionAdmin
from sessions_app.admin.framework.filters import SessionAppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import REMIT_OF_APP, Right, may, remits_of, require
from sessions_app.admin.framework.stoppable import StopForm, stop_wording
from sessions_app.asgi.downloads import streamed_download
from sessions_app.base.actors import Actor
from sessions_app.contrib.evaluation.admin_page import load_page
from sessions_app.contrib.evaluation.end import cancel_evaluation
from sessions_app.contrib.evaluation.sources import stream_eval_set
from sessions_app.contrib.evaluation.staff_reader import cases_within
from sessions_app.models import AccessKind, ActionKind, Annotation, Evaluation
from sessions_app.rendering.audit_values import elapsed_time, excerpt, status_badge


@admin.register(Evaluation)
class EvaluationAdmin(ConfirmedActionAdmin, KeysetAdmin):
    """Evaluations, newest first.

    Scores tell nothing of conversations. Messages, calls and answers on the page need the right to read texts.
    """

    action = ActionKind.STOP
    reason_form: ClassVar[type[forms.Form]] = StopForm
    wording = stop_wording(_("Stop the evaluation?"), _("The evaluation is stopped."))
    remit_paths = (REMIT_OF_APP,)
    list_display = ("begun", "outcome", "since_last", "app", "eval_set", "took")
    list_filter = (SessionAppFilter,)
    list_select_related = ("previous",)
    large_fields = ("config",)
    ordering = ("-created_at", "-id")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        self.require_reading(request)
        evaluation = self.get_row(request, object_id)
        may_read = may(request, Right.VIEW_TEXT)
        if may_read:
            self.note_access(request, AccessKind.OPEN, evaluation.pk)
        page = load_page(
            evaluation,
            cases_within(evaluation, remits_of(request)),
            request.GET,
            shows_text=may_read,
            shows_detail=may_read and may(request, Right.VIEW_ERROR_DETAIL),
        )
        return self.show(
            request,
            "admin/sessions_app/evaluation/change_form.html",
            f"{evaluation.app_name}: {evaluation.set_id}",
            evaluation=evaluation,
            outcome=self.outcome(evaluation),
            took=self.took(evaluation),
            page=page,
            stop_url=self.action_url(request, evaluation),
        )

    def has_action_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and may(request, "sessions_app.cancel_evaluation")

    def why_not(self, row: Evaluation) -> str:
        return "" if row.finished_at is None else gettext("The evaluation has ended.")

    def describe(self, row: Evaluation) -> SafeString:
        return format_html("<b><bdi>{}</bdi></b>: <bdi>{}</bdi>", row.app_name, excerpt(row.set_id))

    def act(self, row: Evaluation, by: Actor, reason: str) -> None:
        cancel_evaluation(row.pk)

    @admin.display(description=_("Begun"))
    def begun(self, row: Evaluation) -> datetime:
        return row.created_at

    @admin.display(description=_("App"))
    def app(self, row: Evaluation) -> str:
        return row.app_name

    @admin.display(description=_("Eval set"))
    def eval_set(self, row: Evaluation) -> str:
        return excerpt(row.set_id)

    @admin.display(description=_("Outcome"))
    def outcome(self, row: Evaluation) -> SafeString:
        if row.finished_at is None:
            return status_badge("running")
        badges = [(word, word, number) for word, number in row.counts.items()]
        return format_html_join(
            " ", '<span class="audit-badge" data-status="{}">{} {}</span>', badges
        ) or format_html('<span class="audit-quiet">{}</span>', _("no case is left"))

    @admin.display(description=_("Passed since the last run"))
    def since_last(self, row: Evaluation) -> str | None:
        if row.previous is None or row.finished_at is None:
            return None
        difference = row.passed - row.previous.passed
        return f"{difference:+d}" if difference else "±0"

    @admin.display(description=_("Duration"))
    def took(self, row: Evaluation) -> str | None:
        return elapsed_time(row.created_at, row.finished_at)


admin.site.unregister(Annotation)


@admin.register(Annotation)
class ExportingAnnotationAdmin(AnnotationAdmin):
    """Annotations, with an export of the sessions of a label as an eval set."""

    change_list_template = "admin/sessions_app/annotation/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("evalset.json", self.export_view, "evalset"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        label = request.GET.get("label", "")
        return super().changelist_view(request, {"export_label": label if may(request, Right.EXPORT) else ""})

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Return the sessions with the label in the query string as an eval set.

        Raises:
            BadRequest: the query string names no label.
            PermissionDenied: the user lacks a permission, or the request could write.
        """
        self.require_reading(request)
        require(request, Right.EXPORT)
        label = request.GET.get("label", "")
        if not label:
            raise BadRequest("Name the label of the sessions: ?label=...")
        # A session may have the label several times, as a whole and on its events.
        marked = self.get_queryset(request).filter(label=label).order_by("session").distinct("session")
        session_ids = list(marked.values_list("session", flat=True)[:MAX_CASES])
        # Before the stream begins: nothing is read without a record.
        sessions = f"{len(session_ids)} session{pluralize(session_ids)}"
        self.note_access(request, AccessKind.EXPORT, detail=f"{sessions} labelled {label}")
        name = f"{slugify(label) or 'conversations'}.evalset.json"
        return streamed_download(name, stream_eval_set(label, session_ids), "application/json")

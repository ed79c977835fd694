"""Admin of requests to a second person: the list, and the page to agree or refuse."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.framework.columns import exact_time, shown_column
from sessions_app.admin.framework.confirmed_action import ReasonForm, Wording, confirmation_page
from sessions_app.admin.framework.filters import ValueFilter
from sessions_app.admin.framework.permissions import may
from sessions_app.admin.framework.recorded_acts import actor_in_words
from sessions_app.admin.framework.staff_records import RecordedActsMixin, own_records, staff_of
from sessions_app.admin.records import StaffRecordAdmin, model_named, rows_by_key
from sessions_app.admin.second_person.consent import RIGHTS, act_url
from sessions_app.conf import conf
from sessions_app.models import ActionKind, ActRequest, ActRequestStep, RequestStage, StepKind
from sessions_app.models.act_request import ActRequestQuerySet, add_step
from sessions_app.rendering.audit_values import NOTHING, format_duration, status_badge

MAX_OWN = 200
"""Number of the user's newest requests among which the answered ones are looked for."""
AGREE = "agree"
REFUSE = "refuse"
WORDING = Wording(
    link=gettext_lazy("Answer…"), title=gettext_lazy("May this be done?"), confirm=gettext_lazy("Answer")
)

WITHDRAWAL = Wording(
    link=gettext_lazy("Withdraw…"),
    title=gettext_lazy("Withdraw your request?"),
    confirm=gettext_lazy("Withdraw it"),
)
DOING = Wording(link=gettext_lazy("Do it…"), title="", confirm="")


class ConsentForm(ReasonForm):
    """Answer of a second person, and the reason."""

    answer = forms.ChoiceField(
        label=gettext_lazy("Answer"),
        choices=[
            ("", gettext_lazy("Choose…")),
            (AGREE, gettext_lazy("I agree")),
            (REFUSE, gettext_lazy("I refuse")),
        ],
    )
    field_order = ("answer", "reason")


class StageFilter(ValueFilter):
    """Filter of requests by their stage."""

    title = gettext_lazy("stage")
    parameter_name = "stage"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(RequestStage.choices)


def answerable_acts(request: HttpRequest) -> QuerySet[ActRequest]:
    """Return the requests of others that wait and that the user has the rights to answer, the oldest first."""
    requests: QuerySet[Any] = admin.site.get_model_admin(ActRequest).get_queryset(request)
    acts = [act for act, right in RIGHTS.items() if may(request, right)]
    mine = requests.filter(stage=RequestStage.WAITING, act__in=acts).exclude(actor_id=str(request.user.pk))
    accounts = get_user_model()
    if not admin.site.get_model_admin(accounts).has_delete_permission(request):
        mine = mine.exclude(subject_kind=accounts._meta.model_name)
    return mine.order_by("id")


def answered_acts(request: HttpRequest) -> list[tuple[Any, Model]]:
    """Return the newest requests of the user that others have answered, with the subjects on which the user may act.

    A request is no longer among them once its act is done, or `second_person_hours` after it was made.
    """
    oldest = timezone.now() - timedelta(hours=conf().second_person_hours)
    own = ActRequest.objects.filter(own_records(request), at__gt=oldest).order_by("-id")
    newest: dict[tuple[str, ...], Any] = {}
    for row in own.with_stage().prefetch_related("steps")[:MAX_OWN]:
        newest.setdefault((row.act, row.subject_kind, row.subject_id), row)
    answered = [row for row in newest.values() if row.stage in (RequestStage.AGREED, RequestStage.REFUSED)]
    found = []
    for kind in dict.fromkeys(row.subject_kind for row in answered):
        of_kind = [row for row in answered if row.subject_kind == kind]
        subjects = rows_by_key(request, kind, [row.subject_id for row in of_kind])
        for row in of_kind:
            subject = subjects.get(row.subject_id)
            if subject and _may_act(request, row, subject):
                found.append((row, subject))
    return found


@admin.register(ActRequest)
class ActRequestAdmin(RecordedActsMixin, StaffRecordAdmin):
    """Requests, newest first. Staff with a remit see their own, and those on rows within the remit."""

    change_form_template = "admin/sessions_app/confirmed_action/change_form.html"
    time_field = ""
    search_fields = ()
    list_display = (
        "at", "act", "stage_badge", "age", "subject_kind", "subject", "actor_name", "short_reason", "answer",
    )  # fmt: skip
    list_filter = (StageFilter, "act")
    fields = (
        "act", "stage_badge", "at", "subject_kind", "subject_id", "subject", "actor_name", "actor_id", "address",
        "reason", "answer", "done",
    )  # fmt: skip
    short_reason = shown_column("reason", gettext_lazy("Reason"))
    stage_badge = shown_column("stage", gettext_lazy("Stage"), status_badge)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ActRequest]:
        requests: ActRequestQuerySet = super().get_queryset(request)  # type: ignore[assignment]
        return requests.with_stage()

    def complete_rows(self, request: HttpRequest, rows: list[Any], query: str) -> None:
        """Look up the subjects and the steps of the requests."""
        super().complete_rows(request, rows, query)
        prefetch_related_objects(rows, "steps")

    def get_urls(self) -> list[URLPattern]:
        return [
            self.view_path("<int:object_id>/answer/", self.answer_view, "answer"),
            self.view_path("<int:object_id>/withdraw/", self.withdraw_view, "withdraw"),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = context["original"]
        if row and not _why_not(request, row) and _subject_of(request, row):
            context |= {"action_url": self.url_of("answer", row.pk), "wording": WORDING}
        elif row and _is_own(request, row) and row.stage == RequestStage.WAITING:
            context |= {"action_url": self.url_of("withdraw", row.pk), "wording": WITHDRAWAL}
        elif row and _is_own(request, row) and row.stage == RequestStage.AGREED:
            if subject := _subject_of(request, row):
                context |= {"action_url": act_url(row.act, subject), "wording": DOING}
        return super().render_change_form(request, context, *args, **kwargs)

    def answer_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Ask for an answer and a reason, and store them. The first answer counts."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row: ActRequest = self.get_row(request, str(object_id))
        page = self.url_of("change", object_id)
        if why_not := _why_not(request, row):
            messages.warning(request, why_not)
            return HttpResponseRedirect(page)
        subject = _subject_of(request, row)
        if subject is None:
            raise PermissionDenied
        form = ConsentForm(request.POST or None)
        if form.is_valid():
            self._answer(request, row, subject, form)
            return HttpResponseRedirect(page)
        return confirmation_page(
            self, request, WORDING, form, row=row, description=self._in_words(row), return_url=page
        )

    def withdraw_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Ask for a reason, and withdraw the user's own request, which nobody has answered."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row: ActRequest = self.get_row(request, str(object_id))
        page = self.url_of("change", object_id)
        if not _is_own(request, row) or row.stage != RequestStage.WAITING:  # type: ignore[attr-defined]
            messages.warning(request, _("Only your own request is withdrawn, while it waits."))
            return HttpResponseRedirect(page)
        form = ReasonForm(request.POST or None)
        if form.is_valid():
            reason = form.cleaned_data["reason"]
            if add_step(row, StepKind.ANSWER, staff_of(request).columns(), agrees=False, reason=reason):
                self.log_act(request, ActionKind.WITHDRAW, row, reason, f"({row.act})")
            else:
                messages.warning(request, _("Somebody else was faster."))
            return HttpResponseRedirect(page)
        return confirmation_page(
            self, request, WITHDRAWAL, form, row=row, description=self._in_words(row), return_url=page
        )

    def _answer(self, request: HttpRequest, row: ActRequest, subject: Model, form: ConsentForm) -> None:
        agrees = form.cleaned_data["answer"] == AGREE
        reason = form.cleaned_data["reason"]
        actor = staff_of(request).columns()
        if not add_step(row, StepKind.ANSWER, actor, agrees=agrees, reason=reason):
            messages.warning(request, _("Somebody else was faster."))
            return
        action = ActionKind.APPROVE if agrees else ActionKind.REJECT
        self.log_act(request, action, subject, reason, f"({row.act})")
        messages.success(request, _("You agreed.") if agrees else _("You refused."))

    def _in_words(self, row: ActRequest) -> SafeString:
        """Return who wants to do what to which row, and why."""
        return format_html(
            "{}: <b>{}</b>, {} {}, {}.<br>{}: <bdi>{}</bdi>",
            actor_in_words(row),
            row.get_act_display(),
            row.subject_kind,
            self.subject(row),
            exact_time(row.at),
            _("Reason"),
            row.reason,
        )

    @admin.display(description=gettext_lazy("Waits for"))
    def age(self, row: Any) -> str:
        if row.stage != RequestStage.WAITING:
            return NOTHING
        return format_duration(timezone.now() - row.at)

    @admin.display(description=gettext_lazy("Answer"))
    def answer(self, row: ActRequest) -> SafeString:
        return _step_in_words(row, StepKind.ANSWER)

    @admin.display(description=gettext_lazy("Done"))
    def done(self, row: ActRequest) -> SafeString:
        return _step_in_words(row, StepKind.ACT)


def _why_not(request: HttpRequest, row: Any) -> str:
    """Return why the user cannot answer the request, whatever the rights; empty if the user can."""
    if row.stage != RequestStage.WAITING:
        return _("This request waits for nobody any more.")
    if _is_own(request, row):
        return _("Another person must answer your request.")
    return ""


def _is_own(request: HttpRequest, row: ActRequest) -> bool:
    return row.actor_id == str(request.user.pk)


def _subject_of(request: HttpRequest, row: ActRequest) -> Model | None:
    """Return the subject if it exists and the user may do the act, too; None otherwise."""
    model = model_named(row.subject_kind)
    if model is None:
        return None
    model_admin: Any = admin.site.get_model_admin(model)
    subject: Model | None = model_admin.get_object(request, row.subject_id)
    return subject if subject and _may_act(request, row, subject) else None


def _may_act(request: HttpRequest, row: ActRequest, subject: Model) -> bool:
    model_admin: Any = admin.site.get_model_admin(type(subject))
    return bool(model_admin.may_do(request, row.act, subject))


def _step_in_words(row: ActRequest, kind: StepKind) -> SafeString:
    for step in row.steps.all():
        if step.kind == kind:
            return _in_words(step, is_own=step.actor_id == row.actor_id)
    return SafeString(NOTHING)


def _in_words(step: ActRequestStep, *, is_own: bool) -> SafeString:
    did = ""
    if step.kind == StepKind.ANSWER:
        did = _("agrees") if step.agrees else _("refuses")
        if is_own:
            did = _("withdraws")
    reason = format_html(": <bdi>{}</bdi>", step.reason) if step.reason else ""
    return format_html("{} {}, {}{}", actor_in_words(step), did, exact_time(step.at), reason)

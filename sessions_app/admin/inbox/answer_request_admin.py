"""Admin of the approvals inbox: the list of open requests, and the page to answer a request."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from runtime.errors import AdkError
from runtime.events.answer_rules import SITE, STAFF
from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.confirmed_action import ReasonForm
from sessions_app.admin.framework.figure_table import Cell, FigureTable
from sessions_app.admin.framework.filters import AppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import session_url
from sessions_app.admin.framework.permissions import REMIT_OF_ROW, REMIT_OF_SESSION, may, within_remits
from sessions_app.admin.framework.staff_records import RecordedActsMixin, note_access, staff_of
from sessions_app.admin.framework.stored_events import with_stored
from sessions_app.admin.inbox.answer_form import AnswerForm
from sessions_app.admin.inbox.stored_call import StoredCall
from sessions_app.admin.session.timeline.person_view import SeenEvent, load_begun_nodes, load_seen_events
from sessions_app.base.codec import parse_uuid
from sessions_app.history.rewinds import find_rewinds, without_rewound
from sessions_app.invocations.answers.answering import already_answered_error
from sessions_app.invocations.answers.escalation import limit_of
from sessions_app.invocations.answers.outside_chat import answer_request
from sessions_app.jobs.questions import JobAnswer
from sessions_app.models import AccessKind, ActionKind, AnswerRequest, Event, RequestKind, Session
from sessions_app.models.answer_request import AnswerRefusal, AnswerRequestQuerySet, refusal_to_staff
from sessions_app.process import threads
from sessions_app.rendering.audit_values import NOTHING, format_duration, status_badge
from sessions_app.rendering.outline import as_words, one_line
from sessions_app.secrets.masking import mask_text

MAX_COUNTED = 99
MAX_GROUPED = 1_000
MAX_ARGUMENTS = 6
MAX_CHOSEN = 200
MAX_ERRORS = 5
TOOL_FILTER = "tool_name"
MAX_SHOWN_EVENTS = 12
PIECE_CHARACTERS = 2_000
GONE = _("This waits for nobody any more.")
DONE = {
    ActionKind.APPROVE: _("Approved: %(effect)s"),
    ActionKind.REJECT: _("Rejected: %(effect)s"),
    ActionKind.ANSWER: _("Answered: %(effect)s"),
}
"""Messages after an act."""


class MayAnswerFilter(admin.SimpleListFilter):
    """Filter of requests within the rights of the user to answer."""

    title = _("who may answer")
    parameter_name = "mine"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("I may"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AnswerRequest]) -> QuerySet[AnswerRequest]:
        return queryset if self.value() is None else answerable(request, queryset)


def answerable(request: HttpRequest, requests: QuerySet[AnswerRequest]) -> QuerySet[AnswerRequest]:
    """Return the requests that the user may answer: those without a refusal."""
    # Few parties and kinds for many requests: the rule is asked once for each pair, and SQL does the rest.
    found = Q(pk__in=())
    for answered_by, kind in AnswerRequest.objects.order_by().values_list("answered_by", "kind").distinct():
        pair = Q(answered_by=answered_by, kind=kind)
        if _refusal(request, answered_by, kind, is_owner=True) is None:
            found |= pair
        elif _refusal(request, answered_by, kind, is_owner=False) is None:
            found |= pair & ~Q(session__user=request.user.pk)
    return requests.filter(found)


def count_mine(request: HttpRequest) -> str:
    """Return how many open requests the user may answer, for the menu; empty without any."""
    open_requests = within_remits(request, AnswerRequest.objects.open(), REMIT_OF_SESSION)
    number = len(answerable(request, open_requests).values_list("pk")[: MAX_COUNTED + 1])
    if number > MAX_COUNTED:
        return f"{MAX_COUNTED}+"
    return str(number or "")


@admin.register(AnswerRequest)
class AnswerRequestAdmin(RecordedActsMixin, SessionRowAdmin, KeysetAdmin):
    """Open requests, the oldest first. Their effects quote conversations."""

    shows_text = True

    list_display = (
        "effect", "age", "deadline", "person", "kind_badge", "app", "answerers", "told", "of_session",
    )  # fmt: skip
    list_display_links = ("effect",)
    list_filter = (MayAnswerFilter, "kind", AppFilter, (TOOL_FILTER, admin.AllValuesFieldListFilter))
    list_select_related = ("session", "session__user", "job")
    large_fields = ("job__result", "job__past_attempts", "job__error_detail")
    change_list_template = "admin/sessions_app/answerrequest/change_list.html"
    ordering = ("asked_at", "id")

    class Media:
        css = {"all": ["sessions_app/admin/figures.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[AnswerRequest]:
        requests: AnswerRequestQuerySet = super().get_queryset(request)  # type: ignore[assignment]
        return requests.open()

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns, with sessions as links only for staff who may open sessions.

        In the list of one tool its arguments are columns, in place of what all its requests have in common.
        """
        columns = list(super().get_list_display(request))
        place_of = self.list_display.index
        if not _may_open_sessions(request):
            columns[place_of("of_session")] = self.of_session_key
        if tool := request.GET.get(TOOL_FILTER):
            of_tool = self.get_queryset(request).filter(tool_name=tool).select_related("job")
            oldest = of_tool.order_by(*self.ordering)[:1]
            names: list[str] = []
            for call in StoredCall.of_all(list(oldest)).values():
                names += call.values
            columns[place_of("kind_badge") : place_of("told")] = [
                _argument_column(name) for name in names[:MAX_ARGUMENTS]
            ]
        return (self.choice, *columns)

    def complete_rows(self, request: HttpRequest, rows: list[Any], query: str) -> None:
        """Add to the rows whether the user may decide them, and the arguments of their calls."""
        for row in rows:
            row.is_decidable = row.is_yes_or_no and not _reason_not_allowed(request, row)
        # Only the list of one tool has columns for arguments: the tools of other lists have different ones.
        if request.GET.get(TOOL_FILTER):
            calls = StoredCall.of_all(rows)
            for row in rows:
                row.call_values = calls[row.pk].values

    def get_urls(self) -> list[URLPattern]:
        return [
            self.view_path("<int:object_id>/answer/", self.answer_view, "answer"),
            self.view_path("decide/", self.decide_view, "decide"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        context: dict[str, Any] = {
            "title": _("What waits for an answer, the oldest first"),
            "follows": True,
            "reason_form": ReasonForm(auto_id="decide-%s"),
        }
        if not request.GET and self.has_view_permission(request):
            groups = self._groups(request)
            if groups.rows:
                context["groups"] = groups
        return super().changelist_view(request, context)

    def _groups(self, request: HttpRequest) -> FigureTable:
        """Return the tools of the oldest requests, with the number of these and the age of the oldest."""
        rows = self.get_queryset(request).order_by(*self.ordering).values_list("tool_name", "asked_at")
        times: dict[str, list[datetime]] = {}
        for tool, asked_at in rows[:MAX_GROUPED]:
            times.setdefault(tool, []).append(asked_at)
        groups = []
        for tool, asked in times.items():
            of_tool = f"?{urlencode({TOOL_FILTER: tool})}"
            groups.append([Cell(tool, of_tool), Cell(str(len(asked))), Cell(_age(asked[0]))])
        return FigureTable((_("Tool"), _("Waiting"), _("Oldest")), groups)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        self.require_reading(request)
        row = self.get_object(request, object_id)
        if row is None:
            return self._report_gone(request)
        return self._page(request, row)

    def answer_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Give the posted answer, and redirect to the inbox."""
        row: AnswerRequest | None = self.get_object(request, str(object_id))
        if not self.has_view_permission(request) or (row and _reason_not_allowed(request, row)):
            raise PermissionDenied
        if row is None:
            return self._report_gone(request)
        if request.method != "POST":
            return HttpResponseRedirect(self.url_of("change", object_id))
        call = StoredCall.of(row)
        form = AnswerForm(row, call.args, request.POST)
        if not form.is_valid():
            return self._page(request, row, form)
        answer = form.answer
        reason = form.cleaned_data["reason"]
        # The invocation needs further connections. If all requests kept their connection until then, none would be
        # left.
        connection.close()
        if error := self._give(request, row, answer, reason):
            messages.error(request, error)
        else:
            messages.success(request, DONE[_act_of(answer)] % {"effect": row.effect})
        return HttpResponseRedirect(self.url_of("changelist"))

    def decide_view(self, request: HttpRequest) -> HttpResponse:
        """Approve or reject the chosen requests with one reason, and redirect to the same list."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        given = request.POST.getlist("request")
        keys = [key for key in given if key.isascii() and key.isdecimal()][:MAX_CHOSEN]
        rows = list(self.get_queryset(request).filter(pk__in=keys).select_related("session__user", "job"))
        if any(_reason_not_allowed(request, row) or not row.is_yes_or_no for row in rows):
            raise PermissionDenied
        form = ReasonForm(request.POST)
        if form.is_valid() and request.POST.get("answer") in ("yes", "no"):
            self._decide(request, rows, request.POST["answer"] == "yes", form.cleaned_data["reason"])
            if gone := len(set(keys)) - len(rows):
                messages.warning(
                    request,
                    ngettext("%d waits for nobody any more.", "%d wait for nobody any more.", gone) % gone,
                )
        url = self.url_of("changelist")
        if query := request.POST.get("query", ""):
            url = f"{url}?{query}"
        return HttpResponseRedirect(url)

    def _decide(self, request: HttpRequest, rows: list[AnswerRequest], answer: bool, reason: str) -> None:
        connection.close()  # as for a single answer
        errors = [error for row in rows if (error := self._give(request, row, answer, reason))]
        for error in errors[:MAX_ERRORS]:
            messages.error(request, error)
        if given := len(rows) - len(errors):
            words = _("Rejected: %(number)d")
            if answer:
                words = _("Approved: %(number)d")
            messages.success(request, words % {"number": given})

    def _give(self, request: HttpRequest, row: AnswerRequest, answer: JobAnswer, reason: str) -> str:
        """Give and record an answer; return the sentence of the error, empty without an error."""
        detail = StoredCall.of(row).without_words(row.tool_name)
        try:
            threads.run(answer_request(row, answer, by=staff_of(request), reason=reason, user=request.user))
        except AdkError as error:
            return str(error)
        # The subject is the session: the answer has deleted the row, and the session's page shows the call.
        self.log_act(request, _act_of(answer), row.session, reason, detail)
        return ""

    def _page(self, request: HttpRequest, row: AnswerRequest, form: AnswerForm | None = None) -> HttpResponse:
        # The page shows the conversation before the call.
        note_access(request, AccessKind.OPEN, ("session", row.session_id), "inbox")
        call = StoredCall.of(row)
        reason = _reason_not_allowed(request, row)
        if form is None and not reason:
            form = AnswerForm(row, call.args, None)
        url = ""
        if _may_open_sessions(request):
            url = session_url(row.session_id, seq=call.seq)
        return self.show(
            request,
            "admin/sessions_app/answerrequest/change_form.html",
            row.effect,
            row=row,
            call=call,
            age=self.age(row),
            answerers=self.answerers(row),
            seen_events=seen_before(row.session, call.seq),
            session_url=url,
            reason_not_allowed=reason,
            form=form,
        )

    def _report_gone(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the inbox with a message: who has answered, if the posted form has the call."""
        sentence = str(GONE)
        if session_id := parse_uuid(request.POST.get("session", "")):
            sessions = within_remits(request, Session.objects.filter(pk=session_id), REMIT_OF_ROW)
            for session in sessions:
                sentence = str(already_answered_error(session, request.POST.get("call", "")))
        messages.warning(request, sentence)
        return HttpResponseRedirect(self.url_of("changelist"))

    @admin.display(description=_("Kind"))
    def kind_badge(self, row: AnswerRequest) -> SafeString:
        return status_badge(row.get_kind_display())

    @admin.display(description=_("Person"))
    def person(self, row: AnswerRequest) -> str:
        return row.session.user.get_username()

    @admin.display(description=_("Waits for"))
    def age(self, row: AnswerRequest) -> str:
        return _age(row.asked_at)

    @admin.display(description=_("Rejected in"))
    def deadline(self, row: AnswerRequest) -> str:
        limit = limit_of(row.tool_name)
        if not (limit and limit.reject_seconds and row.is_yes_or_no):
            return NOTHING
        left = row.asked_at + timedelta(seconds=limit.reject_seconds) - timezone.now()
        return format_duration(max(left, timedelta()))

    @admin.display(description=_("Choose"))
    def choice(self, row: AnswerRequest) -> str:
        if not row.is_decidable:  # type: ignore[attr-defined]
            return ""
        box = '<input type="checkbox" name="request" value="{}" form="decide" aria-label="{}: {}">'
        return format_html(box, row.pk, row.effect, row.session.user.get_username())

    @admin.display(description=_("Who may answer"))
    def answerers(self, row: AnswerRequest) -> str:
        if row.answered_by.startswith(STAFF):
            return str(_("staff with %(permission)s") % {"permission": row.permission})
        if row.answered_by == SITE:
            return str(_("code of the site"))
        return str(_("the person, or staff") if row.permission else _("the person"))

    @admin.display(description=_("Staff told by mail"))
    def told(self, row: AnswerRequest) -> Any:
        return row.escalated_at


def _act_of(answer: JobAnswer) -> ActionKind:
    """Return the recorded act of giving an answer: True and False approve and reject."""
    if answer is True:
        return ActionKind.APPROVE
    if answer is False:
        return ActionKind.REJECT
    return ActionKind.ANSWER


def _age(moment: datetime) -> str:
    return format_duration(timezone.now() - moment)


def _argument_column(name: str) -> Callable[[AnswerRequest], str]:
    @admin.display(description=as_words(name))
    def argument(row: AnswerRequest) -> str:
        values: dict[str, Any] = row.call_values  # type: ignore[attr-defined]
        return one_line(values[name]) if name in values else NOTHING

    return argument


def _may_open_sessions(request: HttpRequest) -> bool:
    return admin.site.get_model_admin(Session).has_view_permission(request)


def _refusal(request: HttpRequest, answered_by: str, kind: str, *, is_owner: bool) -> AnswerRefusal | None:
    return refusal_to_staff(
        answered_by,
        is_credential=kind == RequestKind.CREDENTIAL,
        is_owner=is_owner,
        permits=lambda permission: may(request, permission),
    )


def _reason_not_allowed(request: HttpRequest, row: AnswerRequest) -> str:
    """Return why the user may not answer; empty if the user may answer. `check_may_answer` decides again."""
    is_owner = row.session.user_id == request.user.pk
    match _refusal(request, row.answered_by, row.kind, is_owner=is_owner):
        case None:
            return ""
        case AnswerRefusal.IS_CREDENTIAL:
            return str(_("Only the person can give a credential."))
        case AnswerRefusal.SITE_ANSWERS:
            return str(_("Code of the site answers this call."))
        case AnswerRefusal.FOUR_EYES:
            return str(_("You have asked for this yourself: somebody else must decide."))
        case AnswerRefusal.NO_PERMISSION:
            needed = _("To answer this you need the permission %(permission)s.")
            return str(needed % {"permission": row.permission})


def seen_before(session: Session, seq: int | None) -> list[SeenEvent]:
    """Return the last effective events up to `seq` as the person saw them, oldest first, in five queries at most.

    Args:
        seq: number of the last event; None for the end of the log.
    """
    events = Event.objects.filter(session=session)
    if seq is not None:
        events = events.filter(seq__lte=seq)
    rewinds = find_rewinds(session.pk)
    effective = without_rewound(events, rewinds)
    newest = list(with_stored(effective.order_by("-seq"))[:MAX_SHOWN_EVENTS])
    events_shown = newest[::-1]
    cards = load_begun_nodes(session, events_shown)
    return [_cut(event) for event in load_seen_events(session, events_shown, rewinds, cards)]


def _cut(seen: SeenEvent) -> SeenEvent:
    """Return the event with long texts cut."""
    if seen.entry is None:
        return seen
    pieces = [
        replace(piece, text=Truncator(mask_text(piece.text)).chars(PIECE_CHARACTERS))
        for piece in seen.entry.pieces
    ]
    return replace(seen, entry=replace(seen.entry, pieces=pieces))

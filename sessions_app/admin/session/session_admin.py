"""Admin of sessions: the searchable list, and the audit page of a session with its trace and downloads."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from runtime.engine.request_record import RebuiltRequest
from runtime.errors import AdkError
from sessions_app.admin.annotation import SessionLabelFilter, annotations_of
from sessions_app.admin.framework.columns import short_time
from sessions_app.admin.framework.figure_filters import (
    AgentFilter,
    OutcomeFilter,
    SessionFormFilter,
    SessionToolFilter,
)
from sessions_app.admin.framework.filters import SessionAppFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import REMIT_OF_ROW, Right, may, may_collect, require
from sessions_app.admin.framework.staff_records import staff_of
from sessions_app.admin.framework.unmasking import unmask_if_granted
from sessions_app.admin.session.actions import SessionActionsMixin
from sessions_app.admin.session.export import SessionExportMixin, figures_of
from sessions_app.admin.session.state_correction import StateCorrectionMixin
from sessions_app.admin.session.timeline.page import load_session_page
from sessions_app.admin.session.trace.page import load_trace_page
from sessions_app.admin.session.trace.step import number_in, request_json
from sessions_app.admin.session.workflow_graph.acts import NodeForm
from sessions_app.admin.session.workflow_graph.page import load_graph_page
from sessions_app.asgi.downloads import json_download
from sessions_app.base.codec import parse_uuid
from sessions_app.errors import LostPackError
from sessions_app.history.evidence.integrity import check_logs, check_packs
from sessions_app.invocations.rebuilt_requests import rebuild_child_request, rebuild_request
from sessions_app.models import AccessKind, Artifact, Event, Invocation, LegalHold, Session
from sessions_app.models.figures import TOOL, names_of
from sessions_app.rendering.audit_values import excerpt, format_cost, format_duration, status_badge
from sessions_app.secrets.masking import is_unmasked, mask_json
from sessions_app.store.packs import open_pack

MAX_TOOLS_LENGTH = 40
SEARCH_COLUMNS = ("title_or_key", "hit", "app_name", "user", "last_event", "events")


@admin.register(Session)
class SessionAdmin(StateCorrectionMixin, SessionActionsMixin, SessionExportMixin, KeysetAdmin):
    """Sessions of all users. The page of a session needs the right to read texts."""

    remit_paths = (REMIT_OF_ROW,)
    text_columns = {"title_or_key": "key"}
    list_display = (
        "title_or_key", "app_name", "user", "last_event", "events", "activity", "tokens", "cost", "errors", "took",
        "tools",
    )  # fmt: skip
    list_filter = (
        SessionFormFilter,
        SessionAppFilter,
        OutcomeFilter,
        AgentFilter,
        SessionToolFilter,
        SessionLabelFilter,
    )
    list_select_related = ("user", "figures")
    may_match_few = True
    ordering = ("-updated_at", "-id")
    sortable_by = ("tokens", "cost")
    time_field = "updated_at"
    search_columns = ("last_seq",)
    search_fields = ("title",)  # the search box needs one
    search_help_text = _(
        "Whole words of titles, texts, calls, results and errors, the name of a file or user, a key, or the id of a"
        " session, event, invocation or call."
    )

    class Media:
        css = {"all": ["sessions_app/admin/figures.css"]}

    def get_urls(self) -> list[URLPattern]:
        page = "<uuid:session_id>"
        return [
            self.view_path(f"{page}/event/<int:seq>/raw.json", self.raw_event_view, "event_raw"),
            self.view_path(f"{page}/event/<int:seq>/sent.json", self.model_request_view, "event_request"),
            self.view_path(f"{page}/trace/", self.trace_view, "trace"),
            self.view_path(f"{page}/graph/", self.graph_view, "graph"),
            self.view_path(f"{page}/integrity/", self.integrity_view, "integrity"),
            self.view_path(f"{page}/news/", self.news_view, "news"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        open_invocations = Invocation.objects.open().filter(session=OuterRef("pk")).order_by("id")
        status = Subquery(open_invocations.values("status")[:1])
        sessions: QuerySet[Session] = super().get_queryset(request)
        # States may be large, and no column of the list shows them.
        return sessions.annotate(open_status=status).defer("state", "initial_state", "log_hash")

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns of the list or, with the excerpt of the hit, of a search."""
        columns = list(super().get_list_display(request))
        if request.GET.get(SEARCH_VAR, "").strip():
            columns = list(SEARCH_COLUMNS)
        # The links to the actions come early, because the last columns of a wide list are out of sight.
        if actions := self.action_column(request):
            columns.insert(1, actions)
        if may_collect(request):
            columns.insert(1, "choice")
        return tuple(columns)

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        """Link to the page of a session only for staff who may open it."""
        if not may(request, Right.VIEW_TEXT):
            return None
        return super().get_list_display_links(request, list_display)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        session = self._open_session(request, parse_uuid(unquote(object_id)))
        return self.show(
            request,
            "admin/sessions_app/session/change_form.html",
            session.title or str(session),
            is_nav_sidebar_enabled=False,  # the timeline needs the room
            actions=self.action_links(request, session),
            unmasked_until=request.unmasked_until,  # type: ignore[attr-defined]
            audit=load_session_page(session, request.GET),
            annotations=annotations_of(request, session),
        )

    def raw_event_view(self, request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
        """Return the stored JSON of an event as a download, unchanged except for masked values."""
        session = self._open_session(request, session_id)
        # As text: parsed and written again, numbers would lose digits.
        stored = Event.objects.filter(session=session, seq=seq).annotate(raw=Cast("body", TextField()))
        raw = stored.values_list("raw", flat=True).first()
        if raw is None:
            raise Http404(f"Session {session.pk} has no event {seq}.")
        return json_download(f"{session.pk}-event-{seq}.json", mask_json(raw))

    def integrity_view(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        """Return the HTML of the badge with the result of the log's check."""
        self.require_reading(request)
        # A request of the finished page: the check reads the whole log and takes longer than the page.
        context = integrity_badge(self.get_session(request, session_id))
        return TemplateResponse(request, "admin/sessions_app/session/_integrity.html", context)

    def news_view(self, request: HttpRequest, session_id: UUID) -> JsonResponse:
        """Return the last `seq` and the status of the open invocation, for a page with "Follow changes"."""
        self.require_reading(request)
        # Not recorded as an access: a page asks every few seconds while it follows the session, and gets no words.
        session = self.get_session(request, session_id)
        return JsonResponse({"seq": session.last_seq, "status": session.open_status})  # type: ignore[attr-defined]

    def model_request_view(self, request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
        """Return a whole model request as a download.

        `child` in the query string selects a request of an agent run as a tool by its place in the event's record.
        """
        session = self._open_session(request, session_id)
        event = Event.objects.filter(session=session, seq=seq).only("model_call", "invocation_id").first()
        sent = event and _request_of(session, event, request.GET.get("child"))
        if not sent:
            raise Http404(f"Session {session.pk} has no such model request of event {seq}.")
        return json_download(f"{session.pk}-event-{seq}-sent.json", request_json(sent))

    def trace_view(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        """Return the trace of the invocation in the query string."""
        session = self._open_session(request, session_id)
        trace = load_trace_page(session, request.GET)
        if trace is None:
            raise Http404(f"Session {session.pk} has no such invocation or model call.")
        return self.show(request, "admin/sessions_app/trace/page.html", _("Trace"), trace=trace)

    def graph_view(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        """Return the graph of the workflows of the invocation in the query string, or act on a node of it."""
        if request.method == "POST":
            return self._act_on_node(request, session_id)
        session = self._open_session(request, session_id)
        graph = load_graph_page(session, request.GET)
        if graph is None:
            raise Http404(f"Session {session.pk} has no such invocation with a workflow.")
        return self.show(request, "admin/sessions_app/graph/page.html", _("Workflow"), graph=graph)

    def _act_on_node(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        session = self.get_session(request, session_id)
        require(request, Right.APPROVE)
        form = NodeForm(request.POST)
        if form.is_valid():
            # The invocation needs further connections: see the inbox.
            connection.close()
            try:
                action, done = form.act(session, request.user, staff_of(request))
            except AdkError as error:
                messages.error(request, str(error))
            else:
                self.log_act(request, action, session, form.cleaned_data["reason"])
                messages.success(request, done)
        else:
            messages.error(request, _("Give a reason."))
        return HttpResponseRedirect(request.get_full_path())

    @admin.display(description=_("Choose"))
    def choice(self, session: Session) -> SafeString:
        box = '<input type="checkbox" name="item" value="{}" form="collect" aria-label="{} {}">'
        return format_html(box, session.pk, _("Choose"), session.title or session.key)

    @admin.display(description=_("Session"), ordering="title")
    def title_or_key(self, session: Session) -> str:
        return session.title or session.key

    @admin.display(description=_("Last event"), ordering="updated_at")
    def last_event(self, session: Session) -> str | None:
        return short_time(session.updated_at) if session.last_seq else None

    @admin.display(description=_("Events"), ordering="last_seq")
    def events(self, session: Session) -> int:
        return session.last_seq

    @admin.display(description=_("Newest hit"))
    def hit(self, session: Session) -> SafeString | None:
        return session.hit  # type: ignore[attr-defined, no-any-return]

    @admin.display(description=_("Now"))
    def activity(self, session: Session) -> SafeString:
        in_list = ""
        if session.deleted_at:
            in_list = "deleted"
        elif session.archived_at:
            in_list = "archived"
        return format_html("{} {}", status_badge(session.open_status), status_badge(in_list))  # type: ignore[attr-defined]

    @admin.display(description=_("Tokens"), ordering="-figures__tokens")
    def tokens(self, session: Session) -> str:
        return intcomma(figures_of(session).tokens)

    @admin.display(description=_("Cost"), ordering="-figures__cost")
    def cost(self, session: Session) -> str:
        return format_cost(figures_of(session).cost)

    @admin.display(description=_("Errors"))
    def errors(self, session: Session) -> int | None:
        return figures_of(session).errors or None

    @admin.display(description=_("Runtime"))
    def took(self, session: Session) -> str:
        return format_duration(timedelta(seconds=figures_of(session).seconds))

    @admin.display(description=_("Tools"))
    def tools(self, session: Session) -> str:
        return excerpt(", ".join(names_of(TOOL, figures_of(session).labels)), MAX_TOOLS_LENGTH)

    def _open_session(self, request: HttpRequest, session_id: UUID | None) -> Session:
        """Return the session for a response with text of the conversation.

        Records the access, and unmasks the response if the user has a grant for the session.
        """
        self.require_reading(request)
        session = self.get_session(request, session_id)
        request.unmasked_until = unmask_if_granted(request, session.pk)  # type: ignore[attr-defined]
        # The record says which page was read, of which event, and whether masked values were visible.
        words: list[str] = []
        if match := request.resolver_match:
            words = [
                str(match.url_name).removeprefix("sessions_app_session_"),
                str(match.kwargs.get("seq", "")),
            ]
        if is_unmasked():
            words.append("unmasked")
        self.note_access(request, AccessKind.OPEN, session.pk, " ".join(filter(None, words)))
        return session

    def get_session(self, request: HttpRequest, session_id: UUID | None) -> Session:
        """Return the session for a response without text of the conversation.

        Raises:
            Http404: there is no such session within the remits of the user.
            PermissionDenied: the user lacks the permission to view sessions or the right to read texts.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        require(request, Right.VIEW_TEXT)
        holds = LegalHold.objects.of_session(OuterRef("pk"), OuterRef("user_id"))
        sessions = self.get_queryset(request).annotate(is_held=Exists(holds))
        sessions = sessions.select_related("user", "pack").defer("pack__acts")
        session = sessions.filter(pk=session_id).first() if session_id else None
        if session is None:
            raise Http404("There is no such session.")
        try:
            open_pack(session)
        except LostPackError as error:  # All else can be seen and erased.
            messages.error(request, str(error))
        return session


def _request_of(session: Session, event: Event, child: str | None) -> RebuiltRequest | None:
    if child is None:
        rebuilt = rebuild_request(session, event)
        return rebuilt.request if rebuilt else None
    found = rebuild_child_request(event, number_in(child, otherwise=-1))
    return found and found[0]


WORDS: dict[str, str | Promise] = {
    "altered": _("Event #%(seq)d was altered"),
    "missing": _("Events before #%(seq)d are missing"),
    "unsealed": _("Event #%(seq)d was not written by the site"),
    "cut off": _("Events up to #%(seq)d were cut off"),
    "state": _("The state is not that of the events up to #%(seq)d"),
    "lost": _("The file of the events up to #%(seq)d is missing or was changed"),
}


def integrity_badge(session: Session) -> dict[str, object]:
    """Check the whole log and the files, and return the context of the badge."""
    # A pack that could not be opened is missing or was changed.
    check = check_packs if session.packed_at else check_logs
    for flaw in check([session.pk]):
        return {"session": session, "flaw": flaw, "words": str(WORDS[flaw.problem]) % {"seq": flaw.seq}}
    return {"session": session, "altered": _first_altered_file(session)}


def _first_altered_file(session: Session) -> Artifact | None:
    for artifact in session.artifacts.order_by("pk").iterator():
        try:
            if artifact.hash_of_bytes() != artifact.sha256:
                return artifact
        except FileNotFoundError:
            return artifact
    return None

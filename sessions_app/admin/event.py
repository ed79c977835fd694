"""Admin of the events of all sessions. Each event opens on the page of its session."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import AppFilter, ValueFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import event_link, session_url
from sessions_app.admin.framework.stored_events import with_stored
from sessions_app.admin.session.timeline.event_links import EventLinks
from sessions_app.admin.session.timeline.event_rows import build_row_or_none, read_stored_or_none
from sessions_app.models import Event, EventKind
from sessions_app.models.event import RARE_KINDS, EventQuerySet
from sessions_app.rendering.audit_values import status_badge


class KindFilter(ValueFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(EventKind.choices)


@admin.register(Event)
class EventAdmin(KeysetAdmin, SessionRowAdmin):
    """Events of all sessions, newest first."""

    shows_text = True
    list_display = ("number", "happened_at", "of_session", "event_kind", "author", "summary", "tokens")
    list_display_links = None
    list_filter = (KindFilter, AppFilter)
    may_match_few = True
    filters_in_order = {"kind": RARE_KINDS}
    ordering = ("-id",)
    time_field = "happened_at"
    search_fields = ("text",)  # the search box needs one
    search_help_text = _(
        "Whole words of texts, calls, results and errors, the name of a file, or the id of an event or invocation."
    )
    event_kind = shown_column("kind", _("Kind"), status_badge)

    def get_queryset(self, request: HttpRequest) -> EventQuerySet:
        return with_stored(cast(EventQuerySet, super().get_queryset(request)))

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect to the event on the page of its session."""
        self.require_reading(request)
        event = self.get_row(request, unquote(object_id))
        return HttpResponseRedirect(session_url(event.session_id, seq=event.seq))

    @admin.display(description=_("Event"), ordering="id")
    def number(self, event: Event) -> SafeString:
        return event_link(event.session_id, event.seq)

    @admin.display(description=_("Summary"))
    def summary(self, event: Event) -> SafeString | str:
        if hit := getattr(event, "hit", None):  # of a search
            return hit  # type: ignore[no-any-return]
        # Without links: their look-up takes queries for each session, and a line of the list shows none.
        row = build_row_or_none(event, read_stored_or_none(event), gap=None, links=EventLinks())
        if row is None:
            return format_html('<span class="audit-bad">{}</span>', _("This event cannot be shown."))
        return row.summary

    @admin.display(description=_("Tokens"))
    def tokens(self, event: Event) -> str | None:
        if event.prompt_tokens is None and event.output_tokens is None:
            return None
        return f"{event.prompt_tokens or 0} → {event.output_tokens or 0}"

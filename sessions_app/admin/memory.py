"""Admin of memory entries: what agents remember of people, where it is from, and how often it was recalled."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.filters import AppFilter, ValueFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import event_link
from sessions_app.models import Event, MemoryEntry
from sessions_app.rendering.audit_values import NOTHING, excerpt

FORGOTTEN = "(not found any more)"


class KindFilter(ValueFilter):
    """Filter of entries: facts, texts of events, and entries that searches do not find any more."""

    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("fact", "Fact"), ("text", "Text of an event"), ("forgotten", "Not found any more")]

    def matching(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        if value == "forgotten":
            return queryset.filter(words="")
        is_text = Q(source_event_id="")
        return queryset.filter(is_text if value == "text" else ~is_text).exclude(words="")


@admin.register(MemoryEntry)
class MemoryEntryAdmin(KeysetAdmin, SessionRowAdmin):
    """Memory entries, newest first."""

    shows_text = True
    list_display = (
        "id",
        "short_text",
        "kind",
        "user",
        "of_session",
        "app",
        "uses",
        "last_used_at",
        "said_at",
    )
    list_filter = (KindFilter, AppFilter, "said_at")
    list_select_related = ("session", "user")
    ordering = ("-id",)
    search_fields = ("words",)
    fields = ("text", "kind", "source", "of_session", "user", "author", "said_at", "uses", "last_used_at")

    @admin.display(description="Text")
    def short_text(self, entry: MemoryEntry) -> str:
        return excerpt(_text_of(entry))

    @admin.display(description="Text")
    def text(self, entry: MemoryEntry) -> str:
        return _text_of(entry)

    @admin.display(description="Kind")
    def kind(self, entry: MemoryEntry) -> str:
        return "fact" if entry.source_event_id else "text of an event"

    @admin.display(description="Source")
    def source(self, entry: MemoryEntry) -> SafeString | str:
        event_id = entry.source_event_id or entry.event_id
        event = Event.objects.filter(session=entry.session_id, event_id=event_id).only("seq").first()
        return event_link(entry.session_id, event.seq) if event else NOTHING


def _text_of(entry: MemoryEntry) -> str:
    parts = entry.content.get("parts", [])
    return "".join(str(part.get("text", "")) for part in parts) or FORGOTTEN

"""Base classes of the audit admins: read-only rows, rows of a session."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import DateTimeField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.columns import exact_time, field_column
from sessions_app.admin.framework.guarded_views import GuardedAdmin
from sessions_app.admin.framework.links import event_link, session_link
from sessions_app.admin.framework.permissions import (
    REMIT_OF_SESSION,
    RemitPaths,
    Right,
    may,
    require,
    within_remits,
)
from sessions_app.admin.framework.staff_records import note_access
from sessions_app.admin.framework.unmasking import unmask_if_granted
from sessions_app.errors import LostPackError
from sessions_app.history.word_search import cleaned, sessions_named
from sessions_app.models import (
    AccessKind,
    Artifact,
    CallError,
    Event,
    Feedback,
    Invocation,
    ScheduledTask,
    ShareLink,
    ToolJob,
)
from sessions_app.rendering.audit_values import NOTHING
from sessions_app.store.packs import open_pack

SessionRow = Artifact | CallError | Event | Feedback | Invocation | ScheduledTask | ShareLink | ToolJob
FILTER_LOOKUPS = {"exact", "isnull", "isempty", "gte", "lt"}
"""Look-ups in the links of Django's list filters."""
AUTOCOMPLETE = "autocomplete"
"""Name of Django's view for autocompletion in forms. No form of this app uses the view."""
ERROR_DETAILS = ("error_detail", "earlier_details", "error_place")
SESSION_COLUMNS_WITHOUT_TEXT = {"of_session": "of_session_key"}
"""Staff without the right to read texts see the key of a row's session in place of its title."""
CALL_COLUMNS_WITHOUT_TEXT = {**SESSION_COLUMNS_WITHOUT_TEXT, "call": "call_id", "invocation": "invocation_id"}
"""The links of these fields lead to the page of the session."""


def require_read_request(request: HttpRequest) -> None:
    """Refuse all requests except GET and HEAD.

    Raises:
        PermissionDenied: the method is not GET or HEAD.
    """
    if request.method not in ("GET", "HEAD"):
        raise PermissionDenied


class ReadOnlyAdmin(GuardedAdmin):
    """Admin without adding, changing or deleting, for superusers too: such requests are answered with 403.

    Attributes:
        remit_paths: look-ups from a row to its app and its user; empty for rows not narrowed by remits.
        shows_text: True for rows with text of conversations. Staff need the right to read texts to see such rows.
        text_columns: columns and fields with text of conversations, or with a link to them, and the column that
            replaces each for staff without the right to read texts; None to leave the column out.
        time_field: time of a row at which a search by `sessions_app.history.word_search` ends; empty for a list that is
            searched in `search_fields` instead.
    """

    remit_paths: ClassVar[tuple[RemitPaths, ...]] = ()
    shows_text: ClassVar[bool] = False
    text_columns: ClassVar[Mapping[str, str | None]] = {}
    time_field: ClassVar[str] = ""
    actions = None

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the look-ups of the list's filters."""
        # Django would allow all columns of the model: the number of hits would reveal values hidden from the user.
        path, _, last = lookup.rpartition("__")
        offered = {name for filter_ in self.get_list_filter(request) for name in _parameters(filter_)}
        return lookup in offered or (path in offered and last in FILTER_LOOKUPS)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if not self.remit_paths:
            return rows
        return within_remits(request, rows, *self.remit_paths)

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        return tuple(self.without_text(request, super().get_list_display(request)))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out text of conversations and details of errors if the user may not see them."""
        may_see = may(request, Right.VIEW_ERROR_DETAIL)
        shown = self.without_text(request, super().get_fields(request, obj))
        return [field for field in shown if may_see or field not in ERROR_DETAILS]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show the columns of a row that have a value.

        Times are shown to the second, and names of accounts as links only if the user may open these.
        """
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        may_open_accounts = admin.site.get_model_admin(get_user_model()).has_view_permission(request)
        shown: dict[Any, Any] = {}
        empty = set()
        for field in self.opts.fields:
            if vars(obj).get(field.attname, obj) in (None, "", [], {}):
                empty.add(field.name)
            elif isinstance(field, DateTimeField):
                shown[field.name] = field_column(field, exact_time)
            elif field.related_model is get_user_model() and not may_open_accounts:
                shown[field.name] = field_column(field, _name_of)
        filled = []
        for name, options in fieldsets:
            fields = [shown.get(line, line) for line in options["fields"] if line not in empty]
            filled.append((name, {**options, "fields": fields}))
        return filled

    def without_text(self, request: HttpRequest, names: Iterable[Any]) -> list[Any]:
        """Return the columns, replaced by `text_columns` if the user may not read texts."""
        if may(request, Right.VIEW_TEXT):
            return list(names)
        shown = []
        for name in names:
            replacement = self.text_columns.get(name, name)
            if replacement is not None:
                shown.append(replacement)
        return shown

    def require_reading(self, request: HttpRequest) -> None:
        """Refuse a request that could write, and a user without the permission to view the rows.

        Raises:
            PermissionDenied: the request is refused.
        """
        require_read_request(request)
        if not self.has_view_permission(request):
            raise PermissionDenied

    def rights_for(self, action: str) -> list[str]:
        # Nobody adds, changes or deletes a row. Only the page "stop" needs more than to view it: `cancel_<model>`.
        rights = super().rights_for("cancel" if action == "stop" else "view")
        if self.shows_text:
            rights.append(Right.VIEW_TEXT)
        return rights

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        may_read = not self.shows_text or may(request, Right.VIEW_TEXT)
        return may_read and super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        require_read_request(request)
        if SEARCH_VAR in request.GET:
            require(request, Right.VIEW_TEXT)  # The hits of a search reveal parts of texts.
        response = super().changelist_view(request, *args, **kwargs)
        # Recorded after the view, so a refused search leaves no record, and before the page is rendered: if the
        # record fails, nothing is shown.
        if term := request.GET.get(SEARCH_VAR, "").strip():
            self.note_access(request, AccessKind.SEARCH, detail=term)
        return response

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().change_view(request, object_id, *args, **kwargs)
        if (self.shows_text or self.text_columns) and may(request, Right.VIEW_TEXT):
            self.note_access(request, AccessKind.OPEN, unquote(object_id))
        return response

    def note_access(self, request: HttpRequest, kind: AccessKind, key: object = "", detail: str = "") -> None:
        """Record an access of the request's user to a row, or to the list for an empty key."""
        note_access(request, kind, (str(self.opts.model_name), key), detail)

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the search fields in lists, for staff who may read texts; no fields for others and in other views."""
        # Django's autocomplete view searches each model with a reference to it, neither records the search nor masks
        # the hits, and answers 404 without search fields.
        match = request.resolver_match
        if not may(request, Right.VIEW_TEXT) or (match and match.url_name == AUTOCOMPLETE):
            return ()
        return tuple(super().get_search_fields(request))


def _name_of(related: Model | None) -> str:
    """Return the name of a related row, without Django's link to its page."""
    return NOTHING if related is None else str(related)


def _parameters(list_filter: Any) -> tuple[str, ...]:
    """Return the names of a list filter's parameters in the query string, without look-ups."""
    if isinstance(list_filter, str):
        return (list_filter,)
    if not isinstance(list_filter, type):  # a field with the class of its filter
        return (str(list_filter[0]),)
    if name := getattr(list_filter, "parameter_name", None):
        return (str(name),)
    # `SessionFormFilter` has a form of several fields.
    return list_filter.parameter_names  # type: ignore[attr-defined, no-any-return]


class SessionRowAdmin(ReadOnlyAdmin):
    """Admin of rows that belong to a session, narrowed by the remits of their sessions.

    Staff without the right to read texts see no titles of sessions. A row's page shows masked values if the user has a
    grant for the row's session.
    """

    list_select_related: ClassVar[tuple[str, ...]] = ("session",)
    remit_paths: ClassVar[tuple[RemitPaths, ...]] = (REMIT_OF_SESSION,)
    text_columns: ClassVar[Mapping[str, str | None]] = SESSION_COLUMNS_WITHOUT_TEXT

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # `list_select_related` would load the state with each row, and it may be large.
        return super().get_queryset(request).defer("session__state", "session__initial_state")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find rows by their own columns, and by the names of their sessions."""
        term = cleaned(search_term)
        own, has_duplicates = super().get_search_results(request, queryset, term)
        if term and not self.time_field and self.get_search_fields(request):
            own |= queryset.filter(sessions_named(term))
        return own, has_duplicates

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            unmask_if_granted(request, row.session_id)
            if row.session:
                with suppress(LostPackError):  # the page of the session says so
                    open_pack(row.session)
        return row

    @admin.display(description=_("Session"))
    def of_session(self, row: SessionRow) -> str:
        return session_link(row.session) if row.session else NOTHING

    @admin.display(description=_("Session"))
    def of_session_key(self, row: SessionRow) -> str:
        return str(row.session) if row.session else NOTHING

    @admin.display(description=_("Event"))
    def event(self, row: Any) -> str:
        return NOTHING if row.seq is None else event_link(row.session_id, row.seq)

    @admin.display(description=_("App"), ordering="session__app_name")
    def app(self, row: SessionRow) -> str:
        return row.session.app_name if row.session else NOTHING

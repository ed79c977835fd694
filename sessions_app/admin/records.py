"""Admin of recorded acts and accesses: what people did to sessions, keys and webhooks, and what staff did and read.

A record has kind and key of its subject, no foreign key.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import BooleanField, Case, Exists, Model, OuterRef, Q, QuerySet, When
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import SESSION_COLUMNS_WITHOUT_TEXT, SessionRowAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import row_url, session_link
from sessions_app.admin.framework.permissions import REMIT_OF_USER, Right, may, remits_of, within_remits
from sessions_app.admin.framework.recorded_acts import actor_in_words
from sessions_app.admin.framework.staff_records import own_records
from sessions_app.models import AccountAct, Session, SessionAct, StaffAccess

KEY_PATTERNS = {"UUIDField": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "CharField": "."}
"""Patterns of primary keys as text, by the type of the field."""
NUMBER = "^[0-9]{1,18}$"


class SubjectAdmin(KeysetAdmin):
    """Admin of records with a column `subject`: a link to the subject with its name.

    The column has the bare key if the row is gone, or if the user may not open its page.
    """

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        record = super().get_object(request, object_id, from_field)
        if record is not None:
            self.complete_rows(request, [record], "")
        return record

    def complete_rows(self, request: HttpRequest, rows: list[Any], query: str) -> None:
        """Look up the subjects of the records, with one query for each kind."""
        keys: dict[str, set[str]] = {}
        for record in rows:
            keys.setdefault(record.subject_kind, set()).add(record.subject_id)
        links = {kind: links_to_rows(request, kind, of_kind) for kind, of_kind in keys.items()}
        for record in rows:
            record.subject_link = links[record.subject_kind].get(record.subject_id, record.subject_id)

    @admin.display(description=_("Subject"))
    def subject(self, record: Any) -> str:
        return record.subject_link  # type: ignore[no-any-return]


def links_to_rows(request: HttpRequest, kind: str, keys: Iterable[str]) -> dict[str, SafeString]:
    """Return links to the rows of a kind by key, within the rights and remits of the user."""
    return {key: _link(row) for key, row in rows_by_key(request, kind, keys).items()}


def rows_by_key(request: HttpRequest, kind: str, keys: Iterable[str]) -> dict[str, Model]:
    """Return the rows of a kind by key, as far as the user may open their pages."""
    model = model_named(kind)
    if model is None:
        return {}
    model_admin = admin.site.get_model_admin(model)
    # The page of a session consists of words, so it needs the right to read texts, too.
    may_open = model is not Session or may(request, Right.VIEW_TEXT)
    if not (may_open and model_admin.has_view_permission(request)):
        return {}
    # The queryset of the row's admin applies the remits: a link must not name a row outside of them.
    rows = model_admin.get_queryset(request)
    if isinstance(model_admin, KeysetAdmin):
        rows = rows.defer(*model_admin.large_fields)
    values = {key: value for key in keys if (value := _primary_key(model, key)) is not None}
    found = {row.pk: row for row in rows.filter(pk__in=values.values())}
    return {key: found[value] for key, value in values.items() if value in found}


def model_named(kind: str) -> type[Model] | None:
    """Return the model with a page in the admin; of several models with the name, the model of this app."""
    named = [
        model
        for model in apps.get_models()
        if model._meta.model_name == kind and admin.site.is_registered(model)
    ]
    return min(named, key=lambda model: model._meta.app_label != Session._meta.app_label, default=None)


def kind_in_words(kind: str) -> str:
    """Return the name of the model with a page in the admin; the kind itself without such a model."""
    model = model_named(kind)
    return str(model._meta.verbose_name) if model else kind


def _primary_key(model: type[Model], key: str) -> Any:
    """Return the primary key for the text; None for a text that is no key of the model."""
    try:
        return model._meta.pk.to_python(key)
    except ValidationError:
        return None


def _link(row: Model) -> SafeString:
    if isinstance(row, Session):
        return session_link(row)
    return format_html('<a href="{}"><bdi>{}</bdi></a>', row_url(row), row)


class StaffRecordAdmin(SubjectAdmin):
    """Admin of records of staff. Staff with a remit see their own records, and records on rows within the remit.

    Subclasses begin `list_display` and `fields` with the time and what was done, and end with the columns of all
    records.
    """

    columns = ("subject_kind", "subject", "detail", "address", "reason")
    record_fields = (
        "actor_kind", "actor_name", "actor_id", "address", "subject_kind", "subject_id", "subject", "detail", "reason",
    )  # fmt: skip
    ordering = ("-id",)
    time_field = "at"
    search_fields: ClassVar[tuple[str, ...]] = ("actor_name",)  # the search box needs one

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        records = super().get_queryset(request)
        if not remits_of(request):
            return records
        # A search names no subject: its term tells what others look for.
        return records.filter(own_records(request) | Q(_is_on_seen_row(request)))


def _is_on_seen_row(request: HttpRequest) -> Case:
    """Return the condition that the subject of a record is a row within the remits of the user."""
    conditions = []
    for model in filter(admin.site.is_registered, apps.get_models()):
        paths = getattr(admin.site.get_model_admin(model), "remit_paths", ())
        if not paths:
            continue
        key = model._meta.pk
        # PostgreSQL would refuse to cast any other text.
        is_key = Q(subject_id__regex=KEY_PATTERNS.get(key.get_internal_type(), NUMBER))
        subject = model._default_manager.filter(pk=Cast(OuterRef("subject_id"), key))
        is_seen = Exists(within_remits(request, subject, *paths))
        conditions.append(When(is_key, subject_kind=model._meta.model_name, then=is_seen))
    return Case(*conditions, default=False, output_field=BooleanField())


@admin.register(StaffAccess)
class StaffAccessAdmin(StaffRecordAdmin):
    """Accesses of staff, newest first."""

    list_display = ("at", "actor_name", "kind", *StaffRecordAdmin.columns)
    list_filter = ("kind", "subject_kind", "at")
    fields = ("at", "kind", *StaffRecordAdmin.record_fields)


@admin.register(AccountAct)
class AccountActAdmin(SubjectAdmin):
    """Acts on API keys, webhooks and states of users, newest first."""

    remit_paths = (REMIT_OF_USER,)
    list_display = ("at", "action", "actor", "subject_kind", "subject", "user", "reason")
    list_filter = ("action", "actor_kind", "subject_kind", "at")
    list_select_related = ("user",)
    ordering = ("-id",)
    fields = (
        "at", "action", "actor_kind", "actor_name", "actor_id", "address", "subject_kind", "subject_id", "subject",
        "user", "reason",
    )  # fmt: skip

    @admin.display(description=_("Who"))
    def actor(self, act: AccountAct) -> SafeString:
        return actor_in_words(act)


@admin.register(SessionAct)
class SessionActAdmin(SessionRowAdmin, KeysetAdmin):
    """Acts, newest first."""

    text_columns = {**SESSION_COLUMNS_WITHOUT_TEXT, "event": "seq"}
    list_display = (
        "at", "action", "actor", "subject_kind", "subject_id", "of_session", "event", "short_reason",
    )  # fmt: skip
    list_filter = ("action", "actor_kind", "at")
    ordering = ("-id",)
    fields = (
        "at", "action", "actor_kind", "actor_name", "actor_id", "address", "subject_kind", "subject_id",
        "of_session", "event", "reason",
    )  # fmt: skip
    short_reason = shown_column("reason", _("Reason"))

    @admin.display(description=_("Who"))
    def actor(self, act: SessionAct) -> SafeString:
        return actor_in_words(act)

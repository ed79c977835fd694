"""Links to the subjects of recorded acts and accesses. A record has kind and key of its subject, no foreign key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.keyset_list import KeysetAdmin
from sessions_app.admin.permissions import Right, may
from sessions_app.models import Session


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
        links = {kind: _links(request, kind, of_kind) for kind, of_kind in keys.items()}
        for record in rows:
            record.subject_link = links[record.subject_kind].get(record.subject_id, record.subject_id)

    @admin.display(description=_("Subject"))
    def subject(self, record: Any) -> str:
        return record.subject_link  # type: ignore[no-any-return]


def _links(request: HttpRequest, kind: str, keys: Iterable[str]) -> dict[str, SafeString]:
    """Return links to the rows of a kind by key, within the rights and remits of the user."""
    model = _model_named(kind)
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
    return {key: _link(found[value]) for key, value in values.items() if value in found}


def _model_named(kind: str) -> type[Model] | None:
    """Return the model with a page in the admin; of several models with the name, the model of this app."""
    named = [
        one for one in apps.get_models() if one._meta.model_name == kind and admin.site.is_registered(one)
    ]
    return min(named, key=lambda one: one._meta.app_label != Session._meta.app_label, default=None)


def _primary_key(model: type[Model], key: str) -> Any:
    """Return the primary key for the text; None for a text that is no key of the model."""
    try:
        return model._meta.pk.to_python(key)
    except ValidationError:
        return None


def _link(row: Model) -> SafeString:
    url = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[quote(row.pk)])
    name = row.title or row if isinstance(row, Session) else row
    return format_html('<a href="{}"><bdi>{}</bdi></a>', url, name)

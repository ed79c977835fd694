"""Records of acts and accesses of staff: opened pages and files, searches, exports, unmaskings.

Django's log is written as well, for its history pages. It has no addresses, and is deleted with the account of the
actor.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db.models import Model, Q
from django.http import HttpRequest

from runtime.valid_text import storable
from sessions_app.admin.framework.guarded_views import GuardedAdmin
from sessions_app.admin.framework.recorded_acts import staff_act_in_words
from sessions_app.base import actors
from sessions_app.base.actors import ActorKind
from sessions_app.base.client_address import client_address
from sessions_app.models import AccessKind, ActionKind, StaffAccess, StaffAct
from sessions_app.models.staff_act import DETAIL_LENGTH
from sessions_app.secrets.masking import beginning_of

MAX_DETAIL_LENGTH = 300
MAX_CHANGES_LENGTH = DETAIL_LENGTH - len("()")


def staff_of(request: HttpRequest) -> actors.Actor:
    """Return the member of staff behind the request as an actor, with the client address."""
    return actors.staff(request.user, client_address(request))


def own_records(request: HttpRequest) -> Q:
    """Return a filter for records whose actor is the user, as a member of staff."""
    return Q(actor_kind=ActorKind.STAFF, actor_id=str(request.user.pk))


def note_access(
    request: HttpRequest, kind: AccessKind, subject: tuple[str, object], detail: str = "", reason: str = ""
) -> None:
    """Store an access. Call this before the content is sent: nothing may be shown without a record.

    Args:
        subject: name of the model and primary key of the row; an empty key for a list.
    """
    model_name, key = subject
    StaffAccess.objects.create(
        **staff_of(request).columns(),
        kind=kind,
        subject_kind=model_name,
        subject_id=str(key)[:64],
        detail=beginning_of(storable(detail), MAX_DETAIL_LENGTH),
        reason=storable(reason),
    )


def record_act(
    request: HttpRequest, action: ActionKind, row: Model, reason: str = "", detail: str = ""
) -> None:
    """Store an act of the request's user on the row, with time, address and reason."""
    StaffAct.objects.create(
        **staff_of(request).columns(),
        action=action,
        subject_kind=str(row._meta.model_name),
        subject_id=str(row.pk),
        reason=reason,
        detail=detail,
    )


class RecordedActsMixin(GuardedAdmin):
    """Admin with records of acts: of all acts in Django's log, and of the site's actions."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, dict[str, list[str]]]]:
        """Keep the changes for the record of the act: Django's message names the fields alone."""
        request.adk_changes = list(_changes_in_words(form, is_new=add))  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        _record_changes(request, ActionKind.ADD, obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> LogEntry:
        _record_changes(request, ActionKind.CHANGE, obj)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> Any:
        for row in queryset:
            record_act(request, ActionKind.DELETE, row, self.reason_for_deletion(request))
        return super().log_deletions(request, queryset)  # type: ignore[arg-type]

    def reason_for_deletion(self, request: HttpRequest) -> str:
        """Return the reason given for a deletion; empty if the page asks for no reason."""
        return ""

    def log_act(
        self, request: HttpRequest, action: ActionKind, row: Any, reason: str, detail: str = ""
    ) -> None:
        """Record an action of the site, and show it in the row's history."""
        record_act(request, action, row, reason, detail)
        message = staff_act_in_words(action, row._meta.model_name, detail)
        if reason:
            message = f"{message}: {reason}"
        super().log_change(request, row, message)


def _record_changes(request: HttpRequest, action: ActionKind, row: Model) -> None:
    """Store an act with the changes of the form; several acts if one has no room for all changes."""
    detail = ""
    for change in getattr(request, "adk_changes", []):
        longer = f"{detail}; {change}" if detail else change
        if len(longer) > MAX_CHANGES_LENGTH and detail:
            record_act(request, action, row, detail=f"({detail})")
            longer = change
        detail = longer[:MAX_CHANGES_LENGTH]
    record_act(request, action, row, detail=f"({detail})" if detail else "")


def _changes_in_words(form: Any, *, is_new: bool) -> Iterator[str]:
    """Yield the changed fields of a form, with the rights and groups that were given or taken.

    Texts of fields are left out: they may be personal data, and the record outlives an erasure.
    """
    for name in form.changed_data:
        form_field = form.fields.get(name)
        label = str(getattr(form_field, "label", None) or name)
        after = form.cleaned_data.get(name)
        if isinstance(form_field, forms.ModelMultipleChoiceField):
            before = () if is_new else form.initial.get(name, ())
            yield from (f"{label}: added {_name(row)}" for row in after if row not in before)
            yield from (f"{label}: removed {_name(row)}" for row in before if row not in after)
        elif isinstance(form_field, forms.BooleanField):
            yield f"{label}: {'yes' if after else 'no'}"
        elif isinstance(after, Group):
            yield f"{label}: {after}"
        else:
            yield label


def _name(row: Model) -> str:
    # A permission as text also has the names of its app and its model.
    return str(getattr(row, "name", row))

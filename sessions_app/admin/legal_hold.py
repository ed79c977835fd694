"""Admin of legal holds: staff set and lift holds, with a permission for each, and cannot change them otherwise."""

from typing import Any

from django.contrib import admin
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.framework.confirmed_action import ConfirmedActionAdmin, Wording
from sessions_app.admin.framework.filters import presence_filter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import (
    REMIT_OF_PERSON,
    REMIT_OF_ROW,
    REMIT_OF_SESSION,
    REMIT_OF_USER,
    Right,
    may,
    within_remits,
)
from sessions_app.admin.framework.staff_records import staff_of
from sessions_app.base.actors import Actor
from sessions_app.models import ActionKind, LegalHold
from sessions_app.store.erasing import wait_for_erasures


@admin.register(LegalHold)
class LegalHoldAdmin(ConfirmedActionAdmin, KeysetAdmin):
    """Holds, newest first."""

    action = ActionKind.LIFT
    takes_turns = True
    wording = Wording(
        link=gettext_lazy("Lift…"),
        title=gettext_lazy("Lift the legal hold?"),
        confirm=gettext_lazy("Lift it"),
        refrain=gettext_lazy("No, keep it"),
        done=gettext_lazy("The legal hold is lifted."),
    )
    remit_paths = (REMIT_OF_SESSION, REMIT_OF_USER)
    list_display = ("id", "session", "user", "set_at", "set_by_name", "lifted_at", "lifted_by_name")
    list_filter = (
        ("lifted_at", presence_filter(absent=gettext_lazy("In force"), present=gettext_lazy("Lifted"))),
        "set_at",
    )
    list_select_related = ("session", "user")
    ordering = ("-id",)
    raw_id_fields = ("session", "user")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request, Right.SET_HOLD)

    def get_fields(self, request: HttpRequest, obj: LegalHold | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("session", "user", "reason")
        return (
            "session", "user", "reason", "set_at", "set_by_name", "lifted_at", "lifted_by_name", "lift_reason",
        )  # fmt: skip

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Accept only sessions and people within the remits of the user."""
        # The form takes raw keys: without the filter, staff could hold, and so learn of, rows outside of their
        # remits.
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        paths = {"session": REMIT_OF_ROW, "user": REMIT_OF_PERSON}.get(db_field.name)
        if field is not None and field.queryset is not None and paths:
            field.queryset = within_remits(request, field.queryset, paths)
        return field

    def save_model(self, request: HttpRequest, obj: LegalHold, form: Any, change: bool) -> None:
        by = staff_of(request)
        obj.set_by_id = by.user_pk
        obj.set_by_name = by.name
        obj.save(force_insert=True)
        wait_for_erasures()

    def has_action_permission(self, request: HttpRequest) -> bool:
        return may(request, Right.LIFT_HOLD)

    def why_not(self, row: LegalHold) -> str:
        return "" if row.lifted_at is None else _("The legal hold was lifted before.")

    def describe(self, row: LegalHold) -> SafeString:
        return format_html("<b>{}</b>: <bdi>{}</bdi>", row, Truncator(row.reason).chars(300))

    def act(self, row: LegalHold, by: Actor, reason: str) -> None:
        lifted = {"lifted_by_id": by.user_pk, "lifted_by_name": by.name, "lift_reason": reason}
        LegalHold.objects.active().filter(pk=row.pk).update(lifted_at=Now(), **lifted)

"""Admin of users and groups. Deleting a user erases the person's data, and is refused under legal hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from sessions_app.admin.guarded_views import GuardedViewsMixin
from sessions_app.admin.permissions import OF_PERSON, Right, may, within_remits
from sessions_app.admin.staff_acts import RecordedActsMixin
from sessions_app.data_protection.counts import counts_of_person
from sessions_app.data_protection.erase import ErasureOrder, erase_person
from sessions_app.models import LegalHold

USER_MODEL: type[Model] = get_user_model()
BASE: Any = (
    type(admin.site.get_model_admin(USER_MODEL)) if admin.site.is_registered(USER_MODEL) else admin.ModelAdmin
)
REASON = "The account was deleted in the admin."


class ErasingUserAdmin(RecordedActsMixin, GuardedViewsMixin, BASE):  # type: ignore[misc]
    """The site's admin of users, with a deletion that erases. Staff bound to one app see none: users have all apps."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return within_remits(request, super().get_queryset(request), OF_PERSON)

    def get_deleted_objects(
        self, objs: Iterable[Any], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Return the users with the numbers of their rows, and the holds that forbid the deletion.

        The rows are counted, not listed: a person may have many. The permission to delete users is enough.
        """
        users = list(objs)
        counts: dict[str, int] = {}
        for user in users:
            for kind, number in {"users": 1, **counts_of_person(user.pk)}.items():
                name = kind.replace("_", " ")
                counts[name] = counts.get(name, 0) + number
        held = [str(hold) for user in users for hold in LegalHold.objects.of_person(user.pk)]
        missing = set() if self.has_delete_permission(request) else {str(self.opts.verbose_name)}
        return [str(user) for user in users], counts, missing, held

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, Right.ERASE) and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        erase_person(obj.pk, ErasureOrder(reason=REASON, by=request.user.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for user_pk in list(queryset.values_list("pk", flat=True)):
            erase_person(user_pk, ErasureOrder(reason=REASON, by=request.user.pk))


class RecordedGroupAdmin(RecordedActsMixin, GuardedViewsMixin, GroupAdmin):
    """Django's admin of groups: a group grants permissions, so that changes are recorded."""


for model, model_admin in ((Group, RecordedGroupAdmin), (USER_MODEL, ErasingUserAdmin)):
    if admin.site.is_registered(model):  # A project may have none, or registers its own later.
        admin.site.unregister(model)
        admin.site.register(model, model_admin)

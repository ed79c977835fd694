"""Remit: the sessions visible in the admin to the members of a group of staff."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Self, TypeVar

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q

Row = TypeVar("Row", bound=models.Model)


class RemitQuerySet(models.QuerySet["Remit"]):
    """Remits by member of staff."""

    def of(self, user: Any) -> Self:
        """Return the remits of the user's groups; none for a superuser and for a user model without groups."""
        groups = getattr(user, "groups", None)
        if user.is_superuser or groups is None:
            return self.none()
        return self.filter(group__in=groups.all())


class Remit(models.Model):
    """Sessions of one app or all apps, and of the users of one group or all users.

    Staff see the union of the remits of all their groups. A remit narrows a permission and grants none: staff without
    a remit see all sessions. The groups of a remit cannot be deleted.

    Attributes:
        group: group of the staff whom the remit binds.
        app_name: empty for all apps.
        people: group of the users whose sessions are seen; None for all users.
    """

    # PROTECT: without the remit the members of the group would see more, and that silently.
    group = models.ForeignKey("auth.Group", on_delete=models.PROTECT, related_name="+")
    app_name = models.CharField("app", max_length=128, blank=True, help_text="Empty for all apps.")
    people = models.ForeignKey(
        "auth.Group",
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        help_text="Group of the people whose sessions are seen; empty for everybody.",
    )

    objects = RemitQuerySet.as_manager()

    class Meta:
        constraints = [
            # NULL in `people` stands for all users, and is a value like any other here.
            models.UniqueConstraint(
                fields=["group", "app_name", "people"], name="remit_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"remit {self.pk} of group {self.group_id}"

    def covers(self, app: str, user: str) -> Q | None:
        """Return a filter for the rows of the remit.

        Return None for a remit of one app and rows without an app. Rows without a user are in all remits of their app.

        Args:
            app: path of the lookup from a row to the name of its app; empty for rows without an app.
            user: path of the lookup from a row to its user; empty for rows without a user.
        """
        if self.app_name and not app:
            return None
        found = Q()
        if self.app_name:
            found = Q(**{app: self.app_name})
        if not user or self.people_id is None:
            return found
        # A subquery, not a join: a join over the groups of a user would repeat rows.
        users = get_user_model()._base_manager.filter(groups=self.people_id)
        return found & Q(**{f"{user}__in": users.values("pk")})


def covered_rows(
    rows: models.QuerySet[Row], remits: Sequence[Remit], paths: Iterable[tuple[str, str]]
) -> models.QuerySet[Row]:
    """Return the rows covered by any of the remits; all rows without a remit.

    Args:
        paths: pairs of paths as `Remit.covers` takes them. A row is covered when one of the pairs leads into a remit.
    """
    if not remits:
        return rows
    covered = [remit.covers(*pair) for pair in paths for remit in remits]
    conditions = [condition for condition in covered if condition is not None]
    if not conditions:
        return rows.none()
    if not all(conditions):  # an empty condition covers all rows, but Django's `|` would drop it
        return rows
    return rows.filter(reduce(or_, conditions))

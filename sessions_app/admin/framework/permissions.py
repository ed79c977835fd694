"""Permissions and remits of staff. All other modules of the admin check both with these functions.

`view_<model>` opens lists and pages without the text of conversations. Each right below is a permission, too. Remits
narrow all permissions to some apps and people.
"""

from enum import StrEnum
from typing import NamedTuple, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from sessions_app.models import Remit
from sessions_app.models.remit import covered_rows

Row = TypeVar("Row", bound=Model)


class Right(StrEnum):
    """Permissions in addition to `view_<model>` and `cancel_<model>`."""

    VIEW_TEXT = "sessions_app.view_text"
    VIEW_ERROR_DETAIL = "sessions_app.view_error_detail"
    APPROVE = "sessions_app.approve_answerrequest"
    CORRECT_STATE = "sessions_app.correct_state"
    EXPORT = "sessions_app.export_data"
    UNMASK = "sessions_app.unmask_data"
    ERASE = "sessions_app.erase_data"
    SET_HOLD = "sessions_app.set_legalhold"
    LIFT_HOLD = "sessions_app.lift_legalhold"
    REVOKE_LINK = "sessions_app.revoke_sharelink"
    REVOKE_KEY = "sessions_app.revoke_apikey"
    ADD_KEY = "sessions_app.add_apikey"
    VIEW_CASE = "sessions_app.view_casefile"
    ADD_TO_CASE = "sessions_app.add_casefile"
    SEAL_CASE = "sessions_app.seal_casefile"
    RESOLVE_FAILURE = "sessions_app.resolve_failure"


def may(request: HttpRequest, right: str) -> bool:
    """True if the user of the request has the permission."""
    return request.user.has_perm(right)


def may_collect(request: HttpRequest) -> bool:
    """True if the user may add sessions to case files, within the rights to read them."""
    return all(may(request, right) for right in (Right.ADD_TO_CASE, Right.VIEW_CASE, Right.VIEW_TEXT))


def require(request: HttpRequest, *rights: str) -> None:
    """Refuse a request whose user lacks one of the permissions.

    Raises:
        PermissionDenied: the user lacks a permission. The page of the refusal names what is missing.
    """
    missing = [str(right) for right in rights if not may(request, right)]
    if missing:
        request.missing_rights = missing  # type: ignore[attr-defined]
        raise PermissionDenied


class RemitPaths(NamedTuple):
    """Look-ups from a row to the name of its app and to its user; empty for a row without an app or a user."""

    app: str
    user: str


REMIT_OF_ROW = RemitPaths("app_name", "user")
REMIT_OF_APP = RemitPaths("app_name", "")
REMIT_OF_SESSION = RemitPaths("session__app_name", "session__user")
REMIT_OF_USER = RemitPaths("", "user")
REMIT_OF_PERSON = RemitPaths("", "pk")
"""Paths from the account itself."""


def remits_of(request: HttpRequest) -> list[Remit]:
    """Return the remits of the user of the request; empty when all rows are open."""
    remits: list[Remit] | None = getattr(request, "adk_remits", None)
    if remits is None:
        remits = list(Remit.objects.of(request.user))
        request.adk_remits = remits  # type: ignore[attr-defined]  # read once for a request
    return remits


def within_remits(request: HttpRequest, rows: QuerySet[Row], *several: RemitPaths) -> QuerySet[Row]:
    """Return the rows within the remits of the user by one of the paths; all rows without a remit."""
    return covered_rows(rows, remits_of(request), several)


def has_whole_app(request: HttpRequest, name: str) -> bool:
    """True if the remits of the user cover the sessions of all people in the app.

    Only such staff may correct the `app:` state, which all these sessions share.
    """
    remits = remits_of(request)
    return not remits or any(remit.app_name in ("", name) and remit.people_id is None for remit in remits)


def has_some_whole_app(request: HttpRequest) -> bool:
    """True if the remits of the user cover the sessions of all people in some app."""
    remits = remits_of(request)
    return not remits or any(remit.people_id is None for remit in remits)


def sums_within_remits(request: HttpRequest, rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return the rows of apps whose people are all within the remits. Each row is a sum over the people of an app."""
    # A sum tells about people outside of a remit, and cannot be split.
    if not has_some_whole_app(request):
        return rows.none()
    return covered_rows(
        rows, [remit for remit in remits_of(request) if remit.people_id is None], (REMIT_OF_APP,)
    )

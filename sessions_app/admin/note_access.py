"""Record of accesses of staff: opened pages and files, searches, exports, unmaskings."""

from __future__ import annotations

from django.http import HttpRequest

from sessions_app.base import actors
from sessions_app.base.client_address import client_address
from sessions_app.base.codec import storable
from sessions_app.models import AccessKind, StaffAccess
from sessions_app.secrets.masking import beginning_of

MAX_DETAIL_LENGTH = 300


def note_access(
    request: HttpRequest, kind: AccessKind, subject: tuple[str, object], detail: str = "", reason: str = ""
) -> None:
    """Store an access. Call this before the content is sent: nothing may be shown without a record.

    Args:
        subject: name of the model and primary key of the row; an empty key for a list.
    """
    model_name, key = subject
    StaffAccess.objects.create(
        **actors.staff(request.user, client_address(request)).columns(),
        kind=kind,
        subject_kind=model_name,
        subject_id=str(key)[:64],
        detail=beginning_of(storable(detail), MAX_DETAIL_LENGTH),
        reason=storable(reason),
    )

"""Page of a user's settings, and its forms. Everything on the page is the user's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_POST

from sessions_app.base.languages import chosen_time_zone, offered_time_zones
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.data_protection.export import export_user
from sessions_app.errors import LegalHoldError
from sessions_app.models import SavedCredential
from sessions_app.process.thread_pools import download_threads
from sessions_app.rendering.sentences import in_language
from sessions_app.store.credential_service import forget_credential

CHUNK_BYTES = 256 * 1024
BY_USER = "The account was deleted by its user."
WRONG_NAME = gettext_noop("Type your user name exactly as it is shown.")


@require_GET
@login_required
def settings_page(request: HttpRequest) -> HttpResponse:
    """Return the page of the user's settings."""
    return _page(request)


@require_POST
@login_required
def forget_sign_in(request: HttpRequest, credential_id: int) -> HttpResponse:
    """Delete a credential that a tool keeps for the user. Idempotent: another tab may have done it."""
    forget_credential(request.user, credential_id)
    return _done(request, gettext("The sign-in is forgotten."), "sign-ins")


@require_POST
@login_required
def export_data(request: HttpRequest) -> StreamingHttpResponse:
    """Return all data of the user as an archive."""
    # A file first: an error in the middle of a stream would leave the user with a broken archive.
    with TemporaryDirectory() as folder:
        target = Path(folder) / "data.zip"
        export_user(request.user.pk, target)
        file = target.open("rb")  # The open file is sent even after its directory is deleted.
    headers = {"Content-Disposition": 'attachment; filename="data.zip"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(_Pieces(file), content_type="application/zip", headers=headers)


@require_POST
@login_required
def delete_account(request: HttpRequest) -> HttpResponse:
    """Erase the user with all data, after the user has typed the name of the account.

    Raises:
        PermissionDenied: the user is staff, whose accounts are deleted in the admin.
    """
    if request.user.is_staff:
        raise PermissionDenied
    if request.POST.get("name", "").strip() != request.user.get_username():
        return _page(request, HTTPStatus.BAD_REQUEST, deletion_error=gettext(WRONG_NAME))
    try:
        erase_user(request.user.pk, ErasureOrder(reason=BY_USER, by=request.user.pk))
    except LegalHoldError as error:
        return _page(request, HTTPStatus.CONFLICT, deletion_error=in_language(str(error)))
    logout(request)
    return redirect("chat:home")


class _Pieces:
    """Pieces of a file, which is closed with its response, even if nobody reads the response."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.close = file.close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await download_threads.run(self._file.read, CHUNK_BYTES):
            yield piece


def _done(request: HttpRequest, sentence: str, section: str) -> HttpResponse:
    """Redirect to a section of the page, which then shows the sentence."""
    messages.success(request, sentence, fail_silently=True)  # A project may have no messages.
    return redirect(f"{reverse('chat:settings')}#{section}")


def _page(request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, **entered: Any) -> HttpResponse:
    user = request.user
    context = {
        "person": user,
        "time_zones": offered_time_zones(),
        "chosen_time_zone": chosen_time_zone(request.COOKIES),
        "saved_credentials": SavedCredential.objects.filter(user=user.pk).order_by("app_name", "-saved_at"),
        **entered,
    }
    return render(request, "chat/settings.html", context, status=status)

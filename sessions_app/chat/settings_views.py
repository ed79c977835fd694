"""Page of a user's settings, and its forms. Everything on the page is the user's own.

Language, theme and time zone are kept in cookies and not with the account: the sign-in page needs them, too.
"""

from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_POST
from django.views.i18n import set_language

from runtime.engine.instructions import USER_INSTRUCTIONS_KEY
from sessions_app.agent_apps import registry
from sessions_app.asgi.downloads import as_download
from sessions_app.base.languages import (
    CHOSEN_TIME_ZONE_COOKIE,
    THEME_COOKIE,
    THEMES,
    chosen_time_zone,
    offered_time_zones,
)
from sessions_app.chat.requests import actor_of
from sessions_app.conf import conf
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.data_protection.export import export_user
from sessions_app.errors import (
    InvalidInputError,
    LegalHoldError,
    NotFoundError,
    StateChangedError,
    http_status,
)
from sessions_app.extensions import extensions
from sessions_app.invocations.answers.allowances import allowances_of
from sessions_app.models import LinkedAccount, SavedCredential
from sessions_app.process.threads import in_thread
from sessions_app.rendering.faces import face_of
from sessions_app.rendering.sentences import in_language
from sessions_app.sessions.agent_access import usable_names
from sessions_app.sessions.ownership import User
from sessions_app.store.stored_values import MAX_VALUE_LENGTH, StoredValue, read_user_values
from sessions_app.use_cases import (
    change_own_state,
    revoke_sign_in,
    unlink_account,
    withdraw_all_allowances,
    withdraw_allowance,
)

BY_USER = "The account was deleted by its user."
WRONG_NAME = gettext_noop("Type your user name exactly as it is shown.")

MAX_ALLOWANCES = 100
"""Largest number of allowances that the page shows."""
CHANGED = gettext_noop(
    "This was changed meanwhile, for example in another tab. Nothing is overwritten: compare, and save again."
)

A_YEAR = 365 * 86_400


@require_GET
@login_required
def settings_page(request: HttpRequest) -> HttpResponse:
    return _page(request)


@require_POST
@login_required
async def save_instructions(request: HttpRequest) -> HttpResponse:
    """Store the user's own instructions to the agents of an app, unless another tab has changed them.

    Raises:
        Http404: the site has no such app, or its agents get no instructions.
    """
    app_name = request.POST.get("app", "")
    user = await request.auser()
    limit = (await in_thread(_limits, user.pk)).get(app_name)
    if limit is None:
        raise Http404("No agents of this name get instructions of users.")
    text = request.POST.get("text", "").replace("\r\n", "\n").strip()
    entered = {"app_name": app_name, "text": text, "error": ""}
    if len(text) > limit:
        sentence = gettext("The text has more than %(limit)s characters. Shorten it.")
        entered["error"] = sentence % {"limit": limit}
        return await in_thread(_page, request, HTTPStatus.BAD_REQUEST, entered=entered)
    seen = request.POST.get("seen", "")
    try:
        await change_own_state(
            await actor_of(request),
            app_name,
            {USER_INSTRUCTIONS_KEY: text or None},
            {USER_INSTRUCTIONS_KEY: seen} if seen else {},
        )
    except StateChangedError as error:
        entered["error"] = gettext(CHANGED)
        return await in_thread(_page, request, http_status(error), entered=entered)
    except InvalidInputError as error:
        entered["error"] = in_language(str(error))
        return await in_thread(_page, request, http_status(error), entered=entered)
    return _back(request, "instructions", gettext("Your instructions are saved."))


@require_POST
@login_required
async def forget_sign_in(request: HttpRequest, credential_id: int) -> HttpResponse:
    """Delete a credential that a tool keeps for the user. Idempotent: another tab may have done it."""
    is_revoked = await revoke_sign_in(await request.auser(), credential_id)
    sentence = gettext("The sign-in is forgotten.")
    if not is_revoked:
        sentence = gettext(
            "The sign-in is forgotten here. The service has not confirmed its end: look there, too."
        )
    return _back(request, "sign-ins", sentence)


@require_POST
@login_required
async def unlink(request: HttpRequest, account_id: int) -> HttpResponse:
    """End what an account at another service does for the user. Idempotent: another tab may have done it."""
    await in_thread(unlink_account, await actor_of(request), account_id)
    return _back(request, "linked-accounts", gettext("The account is unlinked."))


@require_POST
@login_required
async def withdraw_allowances(request: HttpRequest, session_id: UUID | None = None) -> HttpResponse:
    """Withdraw an allowance of a session, or all of the user. Idempotent: another tab may have done it."""
    by = await actor_of(request)
    if session_id is None:
        await withdraw_all_allowances(by)
    else:
        with suppress(NotFoundError):
            agent = request.POST.get("agent", "")
            tool = request.POST.get("tool", "")
            await withdraw_allowance(by, session_id, agent, tool)
    return _back(request, "allowances", gettext("You are asked again before each call."))


@require_POST
@login_required
def export_data(request: HttpRequest) -> StreamingHttpResponse:
    """Return all data of the user as an archive."""
    # A file first: an error in the middle of a stream would leave the user with a broken archive.
    with TemporaryDirectory() as folder:
        target = Path(folder) / "data.zip"
        export_user(request.user.pk, target)
        return as_download(target)


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


def _back(request: HttpRequest, section: str, sentence: str) -> HttpResponse:
    """Redirect to a section of the page, which then shows the sentence."""
    # A project may have no messages.
    messages.success(request, sentence, extra_tags=section, fail_silently=True)
    return redirect(f"{reverse('chat:settings')}#{section}")


def _limits(user_pk: Any) -> dict[str, int]:
    """Return the limits of the user's own instructions by usable app, without apps whose agents get none."""
    by_app = conf().by_app("custom_instructions_limit")
    limits = {name: by_app.get(name, by_app[""]) for name in usable_names(user_pk, registry.apps())}
    return {name: limit for name, limit in limits.items() if limit}


def _instructions(user_pk: Any, entered: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the fields of the form of each app, with the text that was entered and refused."""
    stored = read_user_values(user_pk, MAX_VALUE_LENGTH, keys=[USER_INSTRUCTIONS_KEY])
    forms = []
    for app_name, limit in _limits(user_pk).items():
        value = next(iter(stored.get(app_name, ())), StoredValue(USER_INSTRUCTIONS_KEY))
        form = {"app_name": app_name, "limit": limit, "seen": value.digest, "text": value.plain_text}
        if entered.get("app_name") == app_name:
            form |= {"stored": value.plain_text, **entered}
        forms.append(form)
    return forms


def _allowances(user: User) -> dict[str, Any]:
    """Return the user's newest allowances, each with the face of its agent."""
    found = allowances_of(user)
    shown = found[:MAX_ALLOWANCES]
    faces = [face_of(allowance.session.app_name, allowance.subject.agent) for allowance in shown]
    return {
        "shown": list(zip(shown, faces, strict=True)),
        "is_cut": len(found) > MAX_ALLOWANCES,
        "most_rows": MAX_ALLOWANCES,
    }


def _page(
    request: HttpRequest,
    status: HTTPStatus = HTTPStatus.OK,
    *,
    entered: Mapping[str, str] = MappingProxyType({}),
    deletion_error: str = "",
) -> HttpResponse:
    user = request.user
    context = {
        "person": user,
        "time_zones": offered_time_zones(),
        "chosen_time_zone": chosen_time_zone(request.COOKIES),
        "saved_credentials": SavedCredential.objects.filter(user=user.pk).order_by("app_name", "-saved_at"),
        "linked_accounts": LinkedAccount.objects.filter(user=user.pk).order_by("pk"),
        "allowances": _allowances(user),
        "instructions": _instructions(user.pk, entered),
        "extension_links": [link for config in extensions() for link in config.settings_links(user)],
        "deletion_error": deletion_error,
    }
    return render(request, "chat/settings.html", context, status=status)


@require_POST
def save_preferences(request: HttpRequest) -> HttpResponseBase:
    """Set the cookies for `language`, `theme` and `time_zone`, and redirect to the page `next` of this site.

    Unknown values are ignored. An empty time zone stands for that of the browser.
    """
    response = set_language(request)  # Checks that `next` is on this site.
    if request.POST.get("theme") in THEMES:
        _set_cookie(response, THEME_COOKIE, request.POST["theme"])
    zone = request.POST.get("time_zone")
    if zone == "":
        response.delete_cookie(CHOSEN_TIME_ZONE_COOKIE, samesite="Lax")
    elif zone in offered_time_zones():
        _set_cookie(response, CHOSEN_TIME_ZONE_COOKIE, zone)
    return response


def _set_cookie(response: HttpResponseBase, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=A_YEAR,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )

"""Page on which users make and revoke their API keys. A new key is shown once: the site stores only its digest."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.chat.exports import NO_GUESS
from sessions_app.chat.requests import actor_of
from sessions_app.errors import InvalidInputError, NotFoundError
from sessions_app.live.account_changes import publish_account_change
from sessions_app.models import ApiKey, Scope
from sessions_app.models.api_key import NAME_LENGTH
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sentences import in_language
from sessions_app.sessions.ownership import User
from sessions_app.use_cases.keys import KeyProperties, make_key, revoke_key

MAX_SHOWN_KEYS = 100
LIFETIMES = {
    "30": gettext_lazy("30 days"),
    "90": gettext_lazy("90 days"),
    "365": gettext_lazy("1 year"),
    "": gettext_lazy("No end"),
}
"""Lifetimes that the page offers, by number of days; the empty string is for keys without an end."""
SCOPE_WORDS = {
    Scope.READ.value: gettext_lazy("Read chats, files and jobs"),
    Scope.RUN.value: gettext_lazy("Send messages and files, stop and retry"),
    Scope.ANSWER.value: gettext_lazy("Answer questions and approvals"),
    Scope.MANAGE.value: gettext_lazy("Create, change and delete chats, schedules, keys and webhooks"),
}
"""Scopes of a key, as the page describes them."""
PROPOSED = {"scopes": ["read", "run"], "days": "90"}
"""Initial values of the form."""


class KeyForm(forms.Form):
    """Validates a user's choices for a new key. The template has its own markup and does not render the form."""

    name = forms.CharField(max_length=NAME_LENGTH)
    scopes = forms.MultipleChoiceField(choices=tuple(SCOPE_WORDS.items()))
    days = forms.ChoiceField(choices=tuple(LIFETIMES.items()), required=False)

    def properties(self) -> KeyProperties:
        """Return the properties for `make_key`. The form must be valid."""
        expires_at = None
        if self.cleaned_data["days"]:
            expires_at = timezone.now() + timedelta(days=int(self.cleaned_data["days"]))
        return KeyProperties(
            name=self.cleaned_data["name"],
            scopes=tuple(map(Scope, self.cleaned_data["scopes"])),
            expires_at=expires_at,
        )


@require_http_methods(["GET", "POST"])
@login_required
async def keys(request: HttpRequest) -> HttpResponse:
    """Show the user's keys (GET), or make a key and show it once (POST)."""
    user = await request.auser()
    if request.method == "GET":
        return await in_thread(_page, request, user, KeyForm(initial=PROPOSED))
    form = KeyForm(request.POST)
    if not form.is_valid():
        return await in_thread(_page, request, user, form)
    try:
        row, key = await in_thread(make_key, user, form.properties(), await actor_of(request))
    except InvalidInputError as error:
        form.add_error(None, in_language(str(error)))
        return await in_thread(_page, request, user, form)
    # No redirect after this POST: the key would have to be kept somewhere until the next request.
    return await in_thread(_page, request, user, KeyForm(initial=PROPOSED), made=row, key=key)


@require_POST
@login_required
async def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Revoke one of the user's keys. Streams that are open with the key end."""
    by = await actor_of(request)
    try:
        await in_thread(revoke_key, ApiKey.objects.filter(user=by.user_pk), key_id, by)
    except NotFoundError as error:
        raise Http404(str(error)) from error
    await publish_account_change(str(by.user_pk))
    return redirect("chat:keys")


def _page(request: HttpRequest, user: User, form: KeyForm, **made: Any) -> HttpResponse:
    rows = list(ApiKey.objects.filter(user=user.pk).order_by("-created_at", "pk")[:MAX_SHOWN_KEYS])
    for row in rows:
        row.rights = [SCOPE_WORDS[scope] for scope in row.scopes if scope in SCOPE_WORDS]  # type: ignore[attr-defined]
    context = {
        "person": user,
        "form": form,
        "chosen_scopes": form["scopes"].value() or (),
        "chosen_days": form["days"].value() or "",
        "rights": SCOPE_WORDS.items(),
        "lifetimes": LIFETIMES.items(),
        "name_length": NAME_LENGTH,
        "in_force": [row for row in rows if row.is_in_force],
        "ended": [row for row in rows if not row.is_in_force],
        **made,
    }
    is_refused = form.is_bound and not form.is_valid()
    status = HTTPStatus.BAD_REQUEST if is_refused else HTTPStatus.OK
    return HttpResponse(render(request, "chat/keys.html", context).content, status=status, headers=NO_GUESS)

"""Forms in which a user changes and forgets what agents keep about them: values of the state, and memory entries."""

import json
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_POST

from runtime.engine.instructions import USER_INSTRUCTIONS_KEY
from sessions_app.base import actors
from sessions_app.base.client_address import client_address
from sessions_app.base.codec import is_storable
from sessions_app.chat.requests import actor_of
from sessions_app.errors import InvalidInputError, StateChangedError
from sessions_app.models import MemoryEntry
from sessions_app.process.threads import in_thread
from sessions_app.rendering.outline import as_words, one_line, outline
from sessions_app.rendering.questions import ShownArgument
from sessions_app.rendering.sentences import in_language
from sessions_app.secrets.masking import mask_text
from sessions_app.store.shared_state import BROWSER_TIME_ZONE_KEY
from sessions_app.store.stored_values import StoredValue, read_user_values
from sessions_app.use_cases import change_own_state, forget_memory

MAX_EDITED_LENGTH = 4_000
"""Longest value, in characters of JSON, that can be edited."""
MAX_ENTRIES = 100
SECTION = "known"
OWN_FORMS = {USER_INSTRUCTIONS_KEY, BROWSER_TIME_ZONE_KEY}
"""Keys that have their own place on the page."""
CHANGED = gettext_noop(
    "This was changed meanwhile, for example by an agent. Nothing is overwritten: look at the new value."
)


@dataclass
class Knowledge:
    """Knowledge of an app's agents about a user: values of the state, and memory entries, each as it is shown."""

    app_name: str
    stored_values: list[tuple[StoredValue, list[ShownArgument]]] = field(default_factory=list)
    entries: list[tuple[MemoryEntry, str]] = field(default_factory=list)


def knowledge_of(user_pk: Any) -> list[Knowledge]:
    """Return what agents keep about the user."""
    known: dict[str, Knowledge] = {}
    for app_name, values in read_user_values(user_pk, MAX_EDITED_LENGTH).items():
        shown = [(value, _shown(value)) for value in values if value.key not in OWN_FORMS]
        if shown:
            known[app_name] = Knowledge(app_name, shown)
    entries = MemoryEntry.objects.filter(user=user_pk).exclude(words="").order_by("-said_at", "-pk")
    for entry in entries[:MAX_ENTRIES]:
        texts = [str(part.get("text", "")) for part in entry.content.get("parts", [])]
        of_app = known.setdefault(entry.app_name, Knowledge(entry.app_name))
        of_app.entries.append((entry, one_line(mask_text(" ".join(texts)))))
    return list(known.values())


def _shown(value: StoredValue) -> list[ShownArgument]:
    """Return the value as the page shows it when no form can edit it."""
    masked = value.masked
    text = value.shown if masked is None else outline(masked, None)[0]
    return [ShownArgument(as_words(value.name), text)]


def back_to_settings(
    request: HttpRequest, section: str, sentence: str, level: int = messages.SUCCESS
) -> HttpResponse:
    """Redirect to a section of the settings, which then show the sentence."""
    # A project may have no messages.
    messages.add_message(request, level, sentence, extra_tags=section, fail_silently=True)
    return redirect(f"{reverse('chat:settings')}#{section}")


@require_POST
@login_required
async def change_value(request: HttpRequest) -> HttpResponse:
    """Change or forget a value of the user's state, unless it has changed since the user saw it."""
    by = await actor_of(request)
    app_name = request.POST.get("app", "")
    key = request.POST.get("key", "")
    stored = await _value(by.user_pk, app_name, key)
    if stored is None or stored.digest != request.POST.get("seen"):
        return _refuse(request, gettext(CHANGED))
    try:
        value = None
        if "forget" not in request.POST:
            value = _parse(stored, request.POST.get("value", ""))
        await change_own_state(by, app_name, {key: value}, {key: stored.digest})
    except StateChangedError:
        return _refuse(request, gettext(CHANGED))
    except InvalidInputError as error:
        return _refuse(request, in_language(str(error)))
    done = gettext("The value is forgotten.") if value is None else gettext("The value is saved.")
    return back_to_settings(request, SECTION, done)


@require_POST
@login_required
def forget_entry(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Forget a memory entry of the user. Idempotent: another tab may have done it."""
    entry = MemoryEntry.objects.filter(pk=entry_id, user=request.user.pk).first()
    if entry is not None:
        forget_memory(actors.person(request.user, client_address(request)), entry.app_name, entry.pk)
    return back_to_settings(request, SECTION, gettext("The memory is forgotten."))


@require_POST
@login_required
async def forget_all(request: HttpRequest) -> HttpResponse:
    """Forget all values of the user's state in an app without a form for each, and all memory entries."""
    by = await actor_of(request)
    app_name = request.POST.get("app", "")
    if not is_storable(app_name):
        return _refuse(request, gettext(CHANGED))
    try:
        # The values are read in parts.
        while digests := await _digests(by.user_pk, app_name):
            await change_own_state(by, app_name, dict.fromkeys(digests), digests)
    except StateChangedError:
        return _refuse(request, gettext(CHANGED))
    await in_thread(forget_memory, by, app_name)
    return back_to_settings(request, SECTION, gettext("Everything is forgotten."))


async def _value(user_pk: Any, app_name: str, key: str) -> StoredValue | None:
    if not is_storable(key) or key in OWN_FORMS:
        return None
    values = await in_thread(read_user_values, user_pk, MAX_EDITED_LENGTH, keys=[key])
    return next(iter(values.get(app_name, ())), None)


async def _digests(user_pk: Any, app_name: str) -> dict[str, str]:
    values = await in_thread(read_user_values, user_pk, 0, app_name=app_name)
    return {value.key: value.digest for value in values.get(app_name, ()) if value.key not in OWN_FORMS}


def _parse(stored: StoredValue, text: str) -> Any:
    """Return the text as a value of the kind of the stored one.

    Raises:
        InvalidInputError: the text is no such value, or the stored one cannot be edited.
    """
    if stored.kind == "text":
        return text.replace("\r\n", "\n")
    if stored.kind == "truth":
        return text == "true"
    if stored.kind != "number":
        raise InvalidInputError("This value cannot be edited. You can forget it.")
    try:
        number = json.loads(text)
    except (ValueError, RecursionError):
        number = None
    is_number = isinstance(number, int) or (isinstance(number, float) and isfinite(number))
    if isinstance(number, bool) or not is_number:
        raise InvalidInputError("This is not a number. Write digits, with a point before decimals.")
    return number


def _refuse(request: HttpRequest, sentence: str) -> HttpResponse:
    return back_to_settings(request, SECTION, sentence, messages.ERROR)

"""Page with what agents know of a user, and its forms: values of the state, and memory entries."""

import json
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Page, Paginator
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_POST

from runtime.engine.instructions import USER_INSTRUCTIONS_KEY
from runtime.memory.memory_entry import distinct_words
from runtime.valid_text import storable
from sessions_app.base import actors
from sessions_app.base.client_address import client_address
from sessions_app.base.codec import is_storable
from sessions_app.chat.requests import actor_of
from sessions_app.errors import InvalidInputError, LegalHoldError, StateChangedError
from sessions_app.models import Event, MemoryEntry, MemoryPause
from sessions_app.process.threads import in_thread
from sessions_app.rendering.outline import as_words, one_line, outline
from sessions_app.rendering.questions import ShownArgument
from sessions_app.rendering.sentences import in_language
from sessions_app.secrets.masking import mask_text
from sessions_app.store.shared_state import BROWSER_TIME_ZONE_KEY
from sessions_app.store.stored_values import StoredValue, read_user_values
from sessions_app.use_cases import (
    change_own_state,
    correct_memory,
    forget_memory,
    pause_memory,
    resume_memory,
)
from sessions_app.use_cases.user_state import MAX_CORRECTED_LENGTH

MAX_EDITED_LENGTH = 4_000
"""Longest value, in characters of JSON, that can be edited."""
ENTRIES_ON_PAGE = 50
MAX_SEARCH_LENGTH = 200
SECTION = "known"
OWN_FORMS = {USER_INSTRUCTIONS_KEY, BROWSER_TIME_ZONE_KEY}
"""Keys that have their own place on the page of the settings."""
CHANGED = gettext_noop(
    "This was changed meanwhile, for example by an agent. Nothing is overwritten: look at the new value."
)
HELD = gettext_noop("This must be kept as it is at the moment: it is under a legal hold.")


@dataclass(frozen=True)
class ShownEntry:
    """A memory entry as the page shows it, without secrets.

    Attributes:
        text: the whole text if it can be edited, else its beginning.
    """

    entry: MemoryEntry
    text: str
    is_editable: bool


@dataclass
class KnownByApp:
    """The knowledge that an app's agents have of a user: values of the state, and memory entries, as they are shown."""

    app_name: str
    stored_values: list[tuple[StoredValue, list[ShownArgument]]] = field(default_factory=list)
    entries: list[ShownEntry] = field(default_factory=list)


@require_GET
@login_required
def known_page(request: HttpRequest) -> HttpResponse:
    query = storable(request.GET.get("q", "")[:MAX_SEARCH_LENGTH])
    words = distinct_words(query)
    page = Paginator(_entries(request.user.pk, words), ENTRIES_ON_PAGE).get_page(request.GET.get("page"))
    known: dict[str, KnownByApp] = {}
    if page.number == 1:
        _add_values(known, request.user.pk, words)
    _add_entries(known, page)
    context = {
        "person": request.user,
        "known": known.values(),
        "query": query,
        "page": page,
        "is_paused": MemoryPause.objects.filter(user=request.user.pk, resumed_at=None).exists(),
        "longest": MAX_CORRECTED_LENGTH,
    }
    return render(request, "chat/known.html", context)


def _entries(user_pk: Any, words: list[str]) -> QuerySet[MemoryEntry]:
    """Return the user's entries that have all words, the newest first, with the `seq` of their events."""
    entries = MemoryEntry.objects.filter(user=user_pk).exclude(words="")
    for word in words:
        entries = entries.filter(words__contains=word)
    is_source = Q(event_id=OuterRef("event_id")) | Q(event_id=OuterRef("source_event_id"))
    events = Event.objects.filter(is_source, session=OuterRef("session"))
    sources = entries.annotate(seq=Subquery(events.values("seq")[:1]), deleted_at=F("session__deleted_at"))
    return sources.select_related("session").order_by("-said_at", "-pk")


def _add_values(known: dict[str, KnownByApp], user_pk: Any, words: list[str]) -> None:
    for app_name, values in read_user_values(user_pk, MAX_EDITED_LENGTH).items():
        found = [value for value in values if value.key not in OWN_FORMS and _has_words(value, words)]
        if found:
            known[app_name] = KnownByApp(app_name, [(value, _shown(value)) for value in found])


def _has_words(value: StoredValue, words: list[str]) -> bool:
    text = f"{as_words(value.name)} {value.shown}".casefold()
    return all(word in text for word in words)


def _add_entries(known: dict[str, KnownByApp], entries: Page[MemoryEntry]) -> None:
    for entry in entries:
        text = "".join(str(part.get("text", "")) for part in entry.content.get("parts", []))
        is_editable = len(text) <= MAX_CORRECTED_LENGTH and mask_text(text) == text
        shown = text if is_editable else one_line(mask_text(text))
        of_app = known.setdefault(entry.app_name, KnownByApp(entry.app_name))
        of_app.entries.append(ShownEntry(entry, shown, is_editable))


def _shown(value: StoredValue) -> list[ShownArgument]:
    """Return the value as the page shows it when no form can edit it."""
    masked = value.masked
    text = value.shown if masked is None else outline(masked, None)[0]
    return [ShownArgument(as_words(value.name), text)]


@require_POST
@login_required
async def pause(request: HttpRequest) -> HttpResponse:
    """Begin or end a pause, in which agents remember nothing new. Idempotent."""
    by = await actor_of(request)
    if "resume" in request.POST:
        await in_thread(resume_memory, by)
        return _back(request, gettext("Agents remember again."))
    await in_thread(pause_memory, by)
    return _back(request, gettext("Agents remember nothing new."))


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
    if value is None:
        return _back(request, gettext("The value is forgotten."))
    return _back(request, gettext("The value is saved."))


@require_POST
@login_required
def change_entry(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Correct or forget a memory entry of the user. Idempotent: another tab may have done it."""
    entry = MemoryEntry.objects.filter(pk=entry_id, user=request.user.pk).first()
    by = actors.person(request.user, client_address(request))
    try:
        if "forget" in request.POST:
            if entry is not None:
                forget_memory(by, entry.app_name, entry.pk)
            return _back(request, gettext("The memory is forgotten."))
        text = request.POST.get("text", "").replace("\r\n", "\n").strip()
        if entry is None or not correct_memory(by, entry, text):
            return _refuse(request, gettext(CHANGED))
    except InvalidInputError as error:
        return _refuse(request, in_language(str(error)))
    except LegalHoldError:
        return _refuse(request, gettext(HELD))
    return _back(request, gettext("The memory is corrected."))


@require_POST
@login_required
async def forget_all(request: HttpRequest) -> HttpResponse:
    """Forget all memory entries of the user in an app, and all values of the state that have no form of their own."""
    by = await actor_of(request)
    app_name = request.POST.get("app", "")
    if not is_storable(app_name):
        return _refuse(request, gettext(CHANGED))
    try:
        await in_thread(forget_memory, by, app_name)
        # The values are read in parts.
        while digests := await _digests(by.user_pk, app_name):
            await change_own_state(by, app_name, dict.fromkeys(digests), digests)
    except StateChangedError:
        return _refuse(request, gettext(CHANGED))
    except LegalHoldError:
        return _refuse(request, gettext(HELD))
    return _back(request, gettext("Everything is forgotten."))


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


def _back(request: HttpRequest, sentence: str, level: int = messages.SUCCESS) -> HttpResponse:
    """Redirect to the page, with the search that the form was on. The page then shows the sentence."""
    # A project may have no messages.
    messages.add_message(request, level, sentence, extra_tags=SECTION, fail_silently=True)
    address = reverse("chat:known")
    query = storable(request.POST.get("q", "")[:MAX_SEARCH_LENGTH])
    if query:
        address += f"?{urlencode({'q': query})}"
    return redirect(address)


def _refuse(request: HttpRequest, sentence: str) -> HttpResponse:
    return _back(request, sentence, messages.ERROR)

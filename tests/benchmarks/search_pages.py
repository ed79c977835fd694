"""Searches of the admin on believable data: CPU time of a page by words, filter and remit, and long readings of tables.

The data are those of `admin_pages`, with `BENCH_EVENTS` and `BENCH_DATA_DIR`.
"""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from sessions_app.models import Event, Remit, Session
from sessions_app.process.threads import in_thread
from tests.benchmarks.admin_pages import Page, make_data, measured, signed_in

WORDS = {
    "absent": "nobody-says-this",
    "rare": "kettle 31007",
    "common": "refund",
    "in all": "order",
    "common and absent": "refund nobody-says-this",
    "common, rare together": "sofa window",
}
MAX_MILLISECONDS = 300
"""Bound on the CPU time of a page in the process and in PostgreSQL."""


async def measure() -> list[str]:
    """Return a line for each list and kind of words, with the dearest filter, and one for each page over the bound."""
    return await in_thread(_measure)


def _measure() -> list[str]:
    make_data()
    everybody = signed_in("auditor")
    with_remits = _with_remits()
    lines = [
        f"searches with {Event.objects.count()} events in {Session.objects.count()} sessions, CPU of a page"
    ]
    pages: list[Page] = []
    for model, filters in _filters().items():
        url = reverse(f"admin:sessions_app_{model}_changelist")
        for kind, words in WORDS.items():
            found = [measured(everybody, f"{url}?q={words}{chosen}") for chosen in filters]
            found += [measured(client, f"{url}?q={words}") for client in with_remits]
            pages += found
            lines.append(
                f"{model}, {kind}: " + ", ".join(f"{page.milliseconds:.0f}" for page in found) + " ms"
            )
    over = [page for page in pages if page.milliseconds > MAX_MILLISECONDS or page.scans]
    over.sort(key=lambda page: -page.milliseconds)
    return [
        *lines,
        f"{len(pages)} pages, {len(over)} over {MAX_MILLISECONDS} ms or with a long reading",
        *(p.line() for p in over),
    ]


def _filters() -> dict[str, list[str]]:
    """Return query strings by list: without a filter, of one person, one app, one day of long ago, and all of them."""
    oldest = Session.objects.order_by("last_event_at")[1_000 if Session.objects.count() > 1_000 else 0]
    person = oldest.user.get_username()
    day = oldest.last_event_at.date()
    created = f"&created_at__gte={day}T00:00Z&created_at__lt={day + timedelta(days=1)}T00:00Z"
    app = "&session__app_name=travel"
    return {
        "session": [
            "", f"&user={person}", "&app_name=travel", f"&since={day}&until={day}",
            f"&user={person}&app_name=travel&since={day}&until={day}",
        ],
        "event": ["", app, "&kind=error", f"{app}&kind=error"],
        "invocation": ["", app, "&status__exact=failed", created, app + created],
        "tooljob": ["", app, "&status__exact=failed", created, app + created],
    }  # fmt: skip


def _with_remits() -> list[Client]:
    """Return staff who see the sessions of one app, and staff who see those of one person."""
    person = Session.objects.order_by("last_event_at")[0].user
    people, _ = Group.objects.get_or_create(name="one person")
    people.user_set.add(person)
    clients = []
    for name, remit in (("of-app", {"app_name": "travel"}), ("of-person", {"people": people})):
        group, _ = Group.objects.get_or_create(name=name)
        Remit.objects.get_or_create(group=group, **remit)
        client = signed_in(name)
        user = get_user_model().objects.get(username=name)
        user.is_superuser = False  # Superusers have no remits.
        user.save()
        user.groups.set([group])
        user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
        clients.append(client)
    return clients

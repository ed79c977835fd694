"""What a session's page is asked to show, by its query string."""

from __future__ import annotations

from typing import Self

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from sessions_app.models import EventKind
from sessions_app.models.event import EventQuerySet

LAST_PAGE = "last"
ALL: list[tuple[str, str | Promise]] = [("", _("All"))]


class EventFilter(forms.Form):
    """Which events, and where among them. What is invalid is said on the page and not applied.

    Fields:
        at: show the state after this event, too, and the page that holds it.
        event: show the page that holds this event.
    """

    kind = forms.ChoiceField(required=False, choices=[*ALL, *EventKind.choices])
    author = forms.CharField(required=False, max_length=256)
    invocation = forms.CharField(required=False, max_length=64)
    at = forms.IntegerField(required=False, min_value=0)
    event = forms.IntegerField(required=False, min_value=1)
    page = forms.RegexField(rf"^([1-9]\d{{0,8}}|{LAST_PAGE})$", required=False)

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """The filter of an address, checked."""
        form = cls(query)
        form.full_clean()
        return form

    def applied_to(self, events: EventQuerySet) -> EventQuerySet:
        """Those of the events that are asked for."""
        columns = {"invocation": "invocation_id"}
        return events.filter(**{columns.get(name, name): value for name, value in self.query.items()})

    @property
    def query(self) -> dict[str, str]:
        """The part of the query string that filters; empty when nothing is left out."""
        names = ("kind", "author", "invocation")
        return {name: value for name in names if (value := self.cleaned_data.get(name))}

    @property
    def page_asked_for(self) -> str:
        return self.cleaned_data.get("page") or ""

    def number(self, name: str, limit: int) -> int | None:
        """The event number that was asked for, at most `limit`; None when none was."""
        value = self.cleaned_data.get(name)
        return None if value is None else min(value, limit)

"""Query string of a session's audit page: filters, page number, highlighted event."""

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
    """Filters and position of the timeline. Invalid values are reported on the page and not applied.

    Fields:
        at: Number of an event; the page that contains it is shown, with the state after it.
        event: Number of an event; the page that contains it is shown.
    """

    kind = forms.ChoiceField(required=False, choices=[*ALL, *EventKind.choices])
    author = forms.CharField(required=False, max_length=256)
    invocation = forms.CharField(required=False, max_length=64)
    at = forms.IntegerField(required=False, min_value=0)
    event = forms.IntegerField(required=False, min_value=1)
    page = forms.RegexField(rf"^([1-9]\d{{0,8}}|{LAST_PAGE})$", required=False)

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        """Parse and validate a query string."""
        form = cls(query)
        form.full_clean()
        return form

    def apply(self, events: EventQuerySet) -> EventQuerySet:
        """Return the events that match the filters."""
        columns = {"invocation": "invocation_id"}
        return events.filter(**{columns.get(name, name): value for name, value in self.query.items()})

    @property
    def query(self) -> dict[str, str]:
        """The valid filters by field name; empty when every event is shown."""
        names = ("kind", "author", "invocation")
        return {name: value for name in names if (value := self.cleaned_data.get(name))}

    @property
    def complaints(self) -> list[tuple[str, str]]:
        """The messages about invalid values, by field name."""
        return [
            (name, " ".join(str(message) for message in messages)) for name, messages in self.errors.items()
        ]

    @property
    def requested_page(self) -> str:
        return self.cleaned_data.get("page") or ""

    def event_number(self, name: str, limit: int) -> int | None:
        """Return the event number in field `name`, at most `limit`; None when the field is empty."""
        value = self.cleaned_data.get(name)
        return None if value is None else min(value, limit)

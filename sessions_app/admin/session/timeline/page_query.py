"""Query string of a session's audit page: view, filters, number of the page, opened event."""

import json
from typing import Self

from django import forms
from django.db.models import BooleanField, F, Func, Q, TextField
from django.db.models.functions import Cast
from django.db.models.lookups import IContains
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runtime.events.calls import FAILURES
from sessions_app.history.call_state import NOT_FAILED_STATUSES
from sessions_app.models import EventKind
from sessions_app.models.event import EventQuerySet

LAST_PAGE = "last"
ALL: list[tuple[str, str | Promise]] = [("", _("All"))]
VIEWS: list[tuple[str, str | Promise]] = [
    ("", _("Events")),
    ("person", _("As the person saw it")),
    ("raw", _("Raw")),
]
FILTERS = ("kind", "author", "invocation", "branch", "tool", "failed", "q")
_IS_FAILED = " || ".join(f'@.status == "{status}"' for status in FAILURES)
_HAS_FAILED_RESPONSE = Func(
    F("body"),
    template="%(expressions)s @? '$.content.parts[*].functionResponse.response"
    f' ? (!exists(@ ? (@.status like_regex "^({"|".join(NOT_FAILED_STATUSES)})$"))'
    f" && (exists(@.error) || {_IS_FAILED}))'",
    output_field=BooleanField(),
)


class SessionPageQuery(forms.Form):
    """View, filters and position. Invalid values are reported on the page and not applied.

    Fields:
        failed: True for errors and failed tool responses only.
        q: text within the event's JSON.
        at: `seq` of an event, to show its page and the state after the event.
        event: `seq` of an event, to show its page.
    """

    view = forms.ChoiceField(required=False, choices=VIEWS)
    kind = forms.ChoiceField(required=False, choices=[*ALL, *EventKind.choices])
    author = forms.CharField(required=False, max_length=256)
    invocation = forms.CharField(required=False, max_length=64)
    branch = forms.CharField(required=False, max_length=1_000)
    tool = forms.CharField(required=False, max_length=256)
    failed = forms.BooleanField(required=False)
    q = forms.CharField(required=False, max_length=200)
    at = forms.IntegerField(required=False, min_value=0)
    event = forms.IntegerField(required=False, min_value=1)
    page = forms.RegexField(rf"^([1-9]\d{{0,8}}|{LAST_PAGE})$", required=False)

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """Parse and validate a query string."""
        form = cls(query)
        form.full_clean()
        return form

    def apply(self, events: EventQuerySet) -> EventQuerySet:
        """Return the events within the filters."""
        return events.filter(*(self._condition(name, value) for name, value in self.filters.items()))

    @property
    def shown_view(self) -> str:
        """The name of the view; empty for the view of events."""
        return self.cleaned_data.get("view") or ""

    @property
    def filters(self) -> dict[str, str]:
        """The valid filters by field name, as a query string has them; empty when every event is shown."""
        valid = {}
        for name in FILTERS:
            value = self.cleaned_data.get(name)
            if value is True:
                value = "on"  # as a browser sends a checked box
            if value:
                valid[name] = value
        return valid

    @property
    def complaints(self) -> list[tuple[str, str]]:
        """The messages about invalid values, by field name."""
        return [(name, " ".join(map(str, messages))) for name, messages in self.errors.items()]

    @property
    def requested_page(self) -> str:
        return self.cleaned_data.get("page") or ""

    def event_seq(self, name: str, limit: int) -> int | None:
        """Return the `seq` in the field `name`, at most `limit`; None when the field is empty."""
        value = self.cleaned_data.get(name)
        return None if value is None else min(value, limit)

    def _condition(self, name: str, value: str) -> Q:
        match name:
            case "invocation":
                return Q(invocation_id=value)
            case "branch":
                return Q(body__branch=value)
            case "tool":
                called = [{"functionCall": {"name": value}}]
                answered = [{"functionResponse": {"name": value}}]
                return Q(body__content__parts__contains=called) | Q(body__content__parts__contains=answered)
            case "failed":
                return Q(kind=EventKind.ERROR) | Q(_HAS_FAILED_RESPONSE)
            case "q":
                # Within one session no index is needed. The term is escaped as JSON, because it is compared with the
                # JSON's text.
                return Q(IContains(Cast("body", TextField()), _in_json(value)))
            case _:
                return Q(**{name: value})


def _in_json(term: str) -> str:
    """Return the term as written within a JSON string."""
    return json.dumps(term, ensure_ascii=False)[1:-1]

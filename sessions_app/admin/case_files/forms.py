"""Forms of case files, and the rules about who may read and seal."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.http import Http404, QueryDict
from django.utils.translation import gettext_lazy as _

from sessions_app.base.codec import parse_uuid
from sessions_app.models import CaseFile, EntryKind
from sessions_app.models.case_file import MAX_NOTE_LENGTH, TITLE_LENGTH

MAX_ITEMS = 100
"""Sessions and events of a case file."""
MAX_EVENTS = 20_000
"""Events of all its sessions. A bundle is made within one request, at 1 to 2 ms for each event."""
MAX_FILE_BYTES = 500_000_000
"""Bytes of the files of its whole sessions together; a request compresses about 30 MB in a second."""


@dataclass(frozen=True)
class Chosen:
    """A session to add, or one event of it.

    Attributes:
        seq: number of the event; 0 for the whole session.
    """

    session_id: UUID
    seq: int

    @property
    def text(self) -> str:
        """The choice as in the query string, `<session>` or `<session>.<seq>`."""
        return f"{self.session_id}.{self.seq}" if self.seq else str(self.session_id)


def chosen_items(query: QueryDict) -> list[Chosen]:
    """Return the sessions and events in the query string.

    Raises:
        Http404: an item is no session or event.
    """
    found = []
    for text in dict.fromkeys(query.getlist("item")[:MAX_ITEMS]):
        key, dot, number = text.partition(".")
        session_id = parse_uuid(key)
        is_number = number.isascii() and number.isdecimal() and len(number) < 19
        if session_id is None or (dot and not is_number):
            raise Http404("There is no such session or event.")
        found.append(Chosen(session_id, int(number) if dot else 0))
    return found


def note_field(*, required: bool) -> forms.CharField:
    """Return the field of a note."""
    return forms.CharField(
        max_length=MAX_NOTE_LENGTH,
        required=required,
        label=_("Note"),
        widget=forms.Textarea(attrs={"rows": 4, "cols": 60}),
    )


class CollectForm(forms.Form):
    """An open case file, or the title of a new one, and a note."""

    case = forms.ModelChoiceField(
        CaseFile.objects.none(), required=False, empty_label=_("A new case file"), label=_("Case file")
    )
    title = forms.CharField(max_length=TITLE_LENGTH, required=False, label=_("Title of a new case file"))
    note = note_field(required=False)

    def __init__(self, data: QueryDict | None, cases: QuerySet[CaseFile]) -> None:
        super().__init__(data)
        self.fields["case"].queryset = cases  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Refuse neither and both of a case file and a title.

        Raises:
            ValidationError: the form names none or two.
        """
        values: dict[str, Any] = super().clean() or {}
        if not self.errors and bool(values.get("case")) == bool(values.get("title")):
            raise forms.ValidationError(_("Choose a case file, or give the title of a new one."))
        return values


class NoteForm(forms.Form):
    note = note_field(required=True)


class ReadingForm(forms.Form):
    """Reading of the second reader."""

    kind = forms.ChoiceField(
        label=_("Reading"),
        choices=[
            ("", _("Choose…")),
            (EntryKind.READ.value, _("I have read it")),
            (EntryKind.AGREED.value, _("I have read it and agree")),
        ],
    )
    note = note_field(required=False)

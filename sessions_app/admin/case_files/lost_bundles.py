"""Sealed case files whose bundle an erasure deletes."""

from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from sessions_app.admin.records import links_to_rows
from sessions_app.models.case_file import seals_of


def lost_bundles(request: HttpRequest, session_ids: Any) -> SafeString:
    """Return how many bundles are deleted with the sessions, with links to the case files that the user may open.

    Empty without such bundles.
    """
    cases = seals_of(session_ids=session_ids).values_list("case", flat=True)
    number = len(cases)
    if not number:
        return SafeString()
    note = ngettext(
        "%(number)d sealed case file loses its bundle.",
        "%(number)d sealed case files lose their bundles.",
        number,
    ) % {"number": number}
    links = links_to_rows(request, "casefile", map(str, cases)).values()
    shown = format_html_join(", ", "{}", ((link,) for link in links))
    return format_html('<strong class="audit-bad">{}</strong> {}', note, shown)

"""Changed lines of two versions of a text, as HTML."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

MAX_LINES = 2_000
"""Maximum lines to compare. The time grows with the square of their number."""
MAX_EQUAL_PAIRS = 20_000
"""Maximum pairs of equal lines to compare exactly. The time grows with the cube of how often a line is repeated."""
CONTEXT_LINES = 2
_BLOCK = '<pre class="audit-block audit-diff" dir="auto" tabindex="0">{}</pre>'
_SAME, _ADDED, _REMOVED = "<span>  {}</span>\n", "<ins>+ {}</ins>\n", "<del>- {}</del>\n"


def changes_block(before: str, after: str) -> SafeString:
    """Return the changed lines with their neighbours; "None." for equal texts."""
    lines = list(_changed_lines(before.splitlines()[:MAX_LINES], after.splitlines()[:MAX_LINES]))
    if not lines:
        return format_html('<p class="audit-quiet">{}</p>', _("None."))
    return format_html(_BLOCK, format_html_join("", "{}", ((line,) for line in lines)))


def _changed_lines(old: list[str], new: list[str]) -> Iterator[SafeString]:
    frequencies = Counter(new)
    equal_pairs = sum(frequencies[line] for line in old)
    # `autojunk` ignores frequent lines in long texts: some unchanged lines are then shown as changed.
    matcher = SequenceMatcher(None, old, new, autojunk=equal_pairs > MAX_EQUAL_PAIRS)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        if group[0][1] or group[0][3]:
            yield format_html(_SAME, "…")
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (format_html(_SAME, line) for line in old[old_from:old_to])
                continue
            yield from (format_html(_REMOVED, line) for line in old[old_from:old_to])
            yield from (format_html(_ADDED, line) for line in new[new_from:new_to])

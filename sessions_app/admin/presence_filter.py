"""Filter of rows with and without a value of a field, with words for both: "Lifted" instead of "Not empty"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.utils.functional import Promise


def presence_filter(*, absent: Promise, present: Promise) -> type[admin.EmptyFieldListFilter]:
    """Return a filter for a field of a list.

    Args:
        absent: choice of the rows without a value.
        present: choice of the rows with a value.
    """

    class PresenceFilter(admin.EmptyFieldListFilter):
        def choices(self, changelist: Any) -> Iterator[Any]:
            words = (None, absent, present)  # The first choice stands for all rows.
            for choice, word in zip(super().choices(changelist), words, strict=True):
                yield {**choice, "display": word or choice["display"]}

    return PresenceFilter

"""Tables of figures: a heading for each column, and values that lead to the lists of what they count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString


@dataclass(frozen=True)
class Cell:
    """A value of a table.

    Attributes:
        url: URL that the value leads to; empty for a value without a link.
    """

    value: str
    url: str = ""


@dataclass(frozen=True)
class FigureTable:
    """A table for `_figures.html`. The first cell of a row is the row's heading.

    Attributes:
        nothing: sentence in place of the rows, if there are none.
    """

    headings: Sequence[str | Promise]
    rows: Sequence[Sequence[Cell]]
    nothing: str = ""

    @property
    def rows_with_headings(self) -> Iterator[list[tuple[str | Promise, Cell]]]:
        """The cells of each row, with the headings of their columns: narrow screens show them before the values."""
        for row in self.rows:
            yield list(zip(self.headings, row, strict=True))


def isolated(text: str) -> SafeString:
    """Return a text of people or of agents for a cell: its direction does not change that of the cell."""
    return format_html("<bdi>{}</bdi>", text)

"""Minimap of a log: all its events in columns by position, coloured by kind, each column a link to its events."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Min

from sessions_app.models import EventKind
from sessions_app.models.event import EventQuerySet

MAX_COLUMNS = 120
HEIGHT = 24
VISIBLE_HEIGHT = 6
"""Least height of errors: a single one among a hundred events must be seen."""
KINDS = (EventKind.ERROR, EventKind.CALL, EventKind.RESPONSE, EventKind.MESSAGE, EventKind.STATE)
"""Kinds from the bottom of a column to its top."""


@dataclass
class Column:
    """Consecutive events of the log.

    Attributes:
        seq: the event that the column leads to: its first error, otherwise its first event.
        bars: kind, place and height of each part.
    """

    x: int
    seq: int
    bars: list[tuple[str, float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Minimap:
    """Columns of a log.

    Attributes:
        start, width: place of the events that the page shows.
    """

    columns: Sequence[Column]
    start: float
    width: float
    height: int = HEIGHT


def load_minimap(events: EventQuerySet, last_seq: int, shown: Sequence[int]) -> Minimap:
    """Load the columns of a session's events in one query.

    Args:
        shown: the `seq` of each event on the page, in order.
    """
    size = -(-last_seq // MAX_COLUMNS) or 1
    column = ExpressionWrapper((F("seq") - 1) / size, output_field=BigIntegerField())
    groups = events.order_by().annotate(column=column).values("column", "kind")
    counted = groups.annotate(number=Count("*"), first=Min("seq"))
    parts: dict[int, dict[str, tuple[int, int]]] = {}
    for group in counted:
        parts.setdefault(group["column"], {})[group["kind"]] = (group["number"], group["first"])
    columns = [_column(x, kinds, size) for x, kinds in sorted(parts.items())]
    start = (shown[0] - 1) / size if shown else 0.0
    end = shown[-1] / size if shown else 0.0
    return Minimap(columns, start, end - start)


def _column(x: int, kinds: dict[str, tuple[int, int]], size: int) -> Column:
    firsts = [first for _number, first in kinds.values()]
    _number, error = kinds.get(EventKind.ERROR, (0, None))
    column = Column(x, error or min(firsts))
    top = float(HEIGHT)
    for kind in KINDS:
        if kind in kinds:
            number, _first = kinds[kind]
            height = HEIGHT * number / size
            if kind == EventKind.ERROR:
                height = max(height, VISIBLE_HEIGHT)
            top -= height
            column.bars.append((kind, top, height))
    return column

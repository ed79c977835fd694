"""Rows that PostgreSQL reads for a statement, whatever the speed and the load of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

REMOVED = ("Rows Removed by Filter", "Rows Removed by Index Recheck")


@dataclass(frozen=True)
class TableReading:
    """A part of a plan that reads a table.

    Attributes:
        kind: the way of reading, such as "Seq Scan".
        rows: number of rows that were read, with those that did not match.
    """

    kind: str
    table: str
    rows: int


def table_readings(plan: Mapping[str, Any]) -> Iterator[TableReading]:
    """Yield the readings of tables in a plan as `EXPLAIN (ANALYZE, FORMAT JSON)` returns it."""
    if "Relation Name" in plan:
        # PostgreSQL gives each number of rows as the average of the loops.
        rows = plan["Actual Rows"] + sum(plan.get(removed, 0) for removed in REMOVED)
        yield TableReading(plan["Node Type"], plan["Relation Name"], round(rows * plan["Actual Loops"]))
    for part in plan.get("Plans", ()):
        yield from table_readings(part)

"""The report on the shop's orders: totals and typical order values by group, a chart and a table.

The typical value is a median with a bootstrap interval: the values are sampled a thousand times, which takes most of
the report's time. So the report is a realistic long-running job, with progress.
"""

import csv
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from statistics import median, quantiles

from adk_site.demo.orders import SEED, YEAR, Grouping, Order, Topic

Progress = Callable[[float, float, str], None]

DRAWS = 1_000
DRAWS_AT_A_TIME = 50
COUNTED: dict[Topic, tuple[str, ...]] = {
    "sales": ("delivered", "shipped", "packed"),
    "returns": ("returned",),
}


@dataclass(frozen=True)
class GroupStatistics:
    """Statistics of the order values of a group, in euros.

    Attributes:
        low: lower end of the median's 95 % interval.
        high: upper end of the median's 95 % interval.
    """

    orders: int
    total: float
    median: float
    low: float
    high: float


Table = dict[str, GroupStatistics]


@dataclass(frozen=True)
class Report:
    """A finished report.

    Attributes:
        summary: the findings in a few sentences.
        chart: a PNG; None without Pillow, which is in requirements-demo.txt.
        table: the numbers as CSV, in euros.
        page: summary and numbers as Markdown.
    """

    title: str
    summary: str
    chart: bytes | None
    table: str
    page: str


@dataclass
class _Steps:
    """Counter of finished steps."""

    progress: Progress
    total: int
    done: int = 0

    def begin(self, message: str) -> None:
        self.progress(self.done, self.total, message)
        self.done += 1


def make_report(
    orders: Iterable[Order], topic: Topic, group_by: Grouping, progress: Progress, draws: int = DRAWS
) -> Report:
    """Compute and write the report; call `progress(done, total, message)` before each step.

    Raises:
        ValueError: there are no such orders.
    """
    title = f"{topic.capitalize()} by {group_by}, {YEAR}"
    groups = _groups(orders, topic, group_by)
    steps = _Steps(progress, total=len(groups) * len(_chunks(draws)) + 2)
    table = _statistics(groups, steps, draws)
    steps.begin("Drawing the chart")
    chart = _draw_chart(table, title)
    steps.begin("Writing the report")
    summary = _summary(table, topic, group_by, draws)
    page = f"# {title}\n\n{summary}\n\n{_markdown_table(table)}\n"
    return Report(title, summary, chart, _csv_table(table), page)


def _groups(orders: Iterable[Order], topic: Topic, group_by: Grouping) -> dict[str, list[float]]:
    """Return the order values of each group in euros; groups are sorted by name, months by time."""
    groups: dict[str, list[float]] = {}
    for order in orders:
        if order.status in COUNTED[topic]:
            keys = {"region": order.region, "product": order.product, "month": f"{order.date:%Y-%m}"}
            groups.setdefault(keys[group_by], []).append(order.total / 100)
    if not groups:
        raise ValueError(f"There are no orders to report on: none is {' or '.join(COUNTED[topic])}.")
    return dict(sorted(groups.items()))


def _statistics(groups: dict[str, list[float]], steps: _Steps, draws: int) -> Table:
    dice = random.Random(SEED)  # noqa: S311 (no secret depends on it)
    table = {}
    for name, values in groups.items():
        medians: list[float] = []
        for size in _chunks(draws):
            steps.begin(f"Estimating the typical order: {name}")
            # Samples as large as the data, drawn from it with replacement.
            medians += [median(dice.choices(values, k=len(values))) for _ in range(size)]
        low, *_, high = quantiles(medians, n=40, method="inclusive")  # 2.5 % and 97.5 %
        table[name] = GroupStatistics(len(values), sum(values), median(values), low, high)
    return table


def _chunks(draws: int) -> list[int]:
    return [min(DRAWS_AT_A_TIME, draws - start) for start in range(0, draws, DRAWS_AT_A_TIME)]


def _summary(table: Table, topic: Topic, group_by: Grouping, draws: int) -> str:
    by_total = sorted(table, key=lambda name: table[name].total)
    by_median = sorted(table, key=lambda name: table[name].median)
    first = by_total[-1]
    last = by_total[0]
    highest = by_median[-1]
    lowest = by_median[0]
    orders = sum(row.orders for row in table.values())
    total = sum(row.total for row in table.values())
    counted = "sales" if topic == "sales" else "returned orders"
    return (
        f"{orders:,} {counted} in {YEAR}, worth {total:,.0f} EUR. "
        f"The {group_by} with the largest total is {first} ({table[first].total:,.0f} EUR), "
        f"the smallest is {last} ({table[last].total:,.0f} EUR). "
        f"A typical order is worth {_typical(table[lowest])} at the least ({lowest}) "
        f"and {_typical(table[highest])} at the most ({highest}). "
        f"In brackets: 95 % intervals from {draws:,} bootstrap draws."
    )


def _draw_chart(table: Table, title: str) -> bytes | None:
    # Pillow is optional: without it, the report has no chart.
    if find_spec("PIL") is None:
        return None
    png: bytes = import_module("adk_site.demo.chart").draw_chart(table, title)
    return png


def _typical(row: GroupStatistics) -> str:
    return f"{row.median:.2f} EUR [{row.low:.2f} to {row.high:.2f}]"


def _csv_table(table: Table) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["group", "orders", "total", "median", "low", "high"])
    for name, row in table.items():
        euros = [f"{value:.2f}" for value in (row.total, row.median, row.low, row.high)]
        writer.writerow([name, row.orders, *euros])
    return text.getvalue()


def _markdown_table(table: Table) -> str:
    lines = ["| Group | Orders | Total EUR | Typical order EUR | 95 % interval |", "|---|--:|--:|--:|---|"]
    lines += [
        f"| {name} | {row.orders:,} | {row.total:,.2f} | {row.median:.2f} | {row.low:.2f} to {row.high:.2f} |"
        for name, row in table.items()
    ]
    return "\n".join(lines)

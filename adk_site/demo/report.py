"""The report on the shop's orders: totals and typical order values by group, a chart, a table.

The typical value is a median with a bootstrap interval. No formula gives that interval: the values are drawn anew
thousands of times, and that is what takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from adk_site.demo.chart import draw_chart
from adk_site.demo.orders import SEED, YEAR, Grouping, Order, Topic

Progress = Callable[[float, float, str], None]
Values = npt.NDArray[np.float64]

DRAWS = 20_000
DRAWS_AT_A_TIME = 1_000
COUNTED: dict[Topic, tuple[str, ...]] = {
    "sales": ("delivered", "shipped", "packed"),
    "returns": ("returned",),
}


@dataclass(frozen=True)
class Report:
    """A finished report.

    Attributes:
        summary: the findings in a few sentences.
        chart: a PNG.
        table: the numbers as CSV, in euros.
        page: summary and numbers as Markdown.
    """

    title: str
    summary: str
    chart: bytes
    table: str
    page: str


@dataclass
class _Steps:
    """Counts the pieces of work."""

    progress: Progress
    total: int
    done: int = 0

    def begin(self, message: str) -> None:
        self.progress(self.done, self.total, message)
        self.done += 1


def make_report(
    orders: Iterable[Order], topic: Topic, group_by: Grouping, progress: Progress, draws: int = DRAWS
) -> Report:
    """Compute and write the report; `progress(done, total, message)` is told before each piece of work.

    Raises:
        ValueError: there are no such orders.
    """
    title = f"{topic.capitalize()} by {group_by}, {YEAR}"
    groups = _groups(orders, topic, group_by)
    steps = _Steps(progress, total=len(groups) * len(_chunks(draws)) + 2)
    table = _statistics(groups, steps, draws)
    steps.begin("Drawing the chart")
    chart = draw_chart(table, title)
    steps.begin("Writing the report")
    summary = _summary(table, topic, group_by, draws)
    page = f"# {title}\n\n{summary}\n\n{_markdown_table(table)}\n"
    return Report(title, summary, chart, table.to_csv(float_format="%.2f"), page)


def _groups(orders: Iterable[Order], topic: Topic, group_by: Grouping) -> dict[str, Values]:
    """The order values of each group in euros; months in order of the year, other groups by name."""
    counted = [order for order in orders if order.status in COUNTED[topic]]
    if not counted:
        raise ValueError(f"There are no orders to report on: none is {' or '.join(COUNTED[topic])}.")
    frame = pd.DataFrame(
        {
            "region": [order.region for order in counted],
            "product": [order.product for order in counted],
            "month": [f"{order.date:%Y-%m}" for order in counted],
            "value": [order.total / 100 for order in counted],
        }
    )
    return {name: group["value"].to_numpy() for name, group in frame.groupby(group_by)}


def _statistics(groups: dict[str, Values], steps: _Steps, draws: int) -> pd.DataFrame:
    """One row for each group: orders, total, median and the ends of its 95 % interval."""
    random = np.random.default_rng(list(SEED.encode()))
    rows = []
    for name, values in groups.items():
        medians: list[Values] = []
        for size in _chunks(draws):
            steps.begin(f"Estimating the typical order: {name}")
            medians.append(_medians_of_draws(values, size, random))
        low, high = np.percentile(np.concatenate(medians), [2.5, 97.5])
        rows.append((len(values), values.sum(), np.median(values), low, high))
    columns = ["orders", "total", "median", "low", "high"]
    return pd.DataFrame(rows, columns=columns, index=pd.Index(groups, name="group"))


def _medians_of_draws(values: Values, count: int, random: np.random.Generator) -> Values:
    """Medians of `count` samples as large as the data, drawn from it with replacement."""
    drawn = values[random.integers(len(values), size=(count, len(values)), dtype=np.int32)]
    return np.asarray(np.median(drawn, axis=1, overwrite_input=True))


def _chunks(draws: int) -> list[int]:
    return [min(DRAWS_AT_A_TIME, draws - start) for start in range(0, draws, DRAWS_AT_A_TIME)]


def _summary(table: pd.DataFrame, topic: Topic, group_by: Grouping, draws: int) -> str:
    first, last = table["total"].idxmax(), table["total"].idxmin()
    highest, lowest = table["median"].idxmax(), table["median"].idxmin()
    what = "sales" if topic == "sales" else "returned orders"
    return (
        f"{table['orders'].sum():,} {what} in {YEAR}, worth {table['total'].sum():,.0f} EUR. "
        f"The {group_by} with the largest total is {first} ({table.at[first, 'total']:,.0f} EUR), "
        f"the smallest is {last} ({table.at[last, 'total']:,.0f} EUR). "
        f"A typical order is worth {_typical(table, lowest)} at the least ({lowest}) "
        f"and {_typical(table, highest)} at the most ({highest}). "
        f"In brackets: 95 % intervals from {draws:,} bootstrap draws."
    )


def _typical(table: pd.DataFrame, group: str) -> str:
    row = table.loc[group]
    return f"{row['median']:.2f} EUR [{row['low']:.2f} to {row['high']:.2f}]"


def _markdown_table(table: pd.DataFrame) -> str:
    lines = ["| Group | Orders | Total EUR | Typical order EUR | 95 % interval |", "|---|--:|--:|--:|---|"]
    lines += [
        f"| {row.Index} | {row.orders:,} | {row.total:,.2f} | {row.median:.2f} | {row.low:.2f} to {row.high:.2f} |"
        for row in table.itertuples()
    ]
    return "\n".join(lines)

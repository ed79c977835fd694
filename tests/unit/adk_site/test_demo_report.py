"""Contract: the report has correct numbers and a PNG chart, and its computation reports progress in small steps."""

import csv
import sys
from datetime import date
from io import StringIO

import pytest

from adk_site.demo.orders import Order
from adk_site.demo.report import DRAWS_AT_A_TIME, Report, make_report

Step = tuple[float, float, str]


def order(region: str, cents: int, status: str = "delivered", month: int = 1) -> Order:
    return Order(1, date(2025, month, 1), region, "Webcam", 1, cents, status)


ORDERS = [
    order("North", 10_00),
    order("North", 20_00, month=2),
    order("North", 60_00, month=3),
    order("South", 50_00, month=2),
    order("South", 50_00),
    order("South", 99_00, "cancelled"),
    order("South", 70_00, "returned"),
]


def ignore(done: float, total: float, message: str) -> None:
    """Ignore the progress."""


def rows(report: Report) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in list(csv.reader(StringIO(report.table)))[1:]}


def test_counts_sums_and_medians_are_those_of_the_orders() -> None:
    table = rows(make_report(ORDERS, "sales", "region", ignore, draws=200))
    assert table["North"][:3] == ["3", "90.00", "20.00"]
    assert table["South"] == ["2", "100.00", "50.00", "50.00", "50.00"]


def test_the_interval_encloses_the_median_and_stays_within_the_values() -> None:
    low, high = map(float, rows(make_report(ORDERS, "sales", "region", ignore, draws=200))["North"][3:])
    assert 10 <= low <= 20 <= high <= 60 and low < high


def test_a_report_on_returns_counts_returned_orders_only() -> None:
    table = rows(make_report(ORDERS, "returns", "region", ignore, draws=10))
    assert table == {"South": ["1", "70.00", "70.00", "70.00", "70.00"]}


def test_months_come_in_order() -> None:
    assert list(rows(make_report(ORDERS, "sales", "month", ignore, draws=10))) == [
        "2025-01",
        "2025-02",
        "2025-03",
    ]


def test_the_summary_names_the_largest_and_the_page_holds_every_group() -> None:
    report = make_report(ORDERS, "sales", "region", ignore, draws=10)
    assert report.title == "Sales by region, 2025"
    assert "5 sales in 2025, worth 190 EUR" in report.summary
    assert "largest total is South (100 EUR)" in report.summary
    assert "| North | 3 | 90.00 | 20.00 |" in report.page


def test_the_chart_is_a_png() -> None:
    chart = make_report(ORDERS, "sales", "region", ignore, draws=10).chart
    assert chart is not None and chart.startswith(b"\x89PNG\r\n\x1a\n")


def test_a_site_without_pillow_makes_the_report_without_the_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "adk_site.demo.chart", raising=False)
    report = make_report(ORDERS, "sales", "region", ignore, draws=10)
    assert report.chart is None
    assert "| North | 3 |" in report.page


def test_the_same_orders_give_the_same_report() -> None:
    first, second = (make_report(ORDERS, "sales", "region", ignore, draws=50) for _ in range(2))
    assert first == second


def test_progress_grows_and_ends_one_step_before_the_total() -> None:
    steps: list[Step] = []
    make_report(ORDERS, "sales", "region", lambda *step: steps.append(step), draws=2 * DRAWS_AT_A_TIME)
    done, totals, messages = zip(*steps, strict=True)
    assert list(done) == list(range(6)) and set(totals) == {6}
    assert messages == (
        *["Estimating the typical order: North"] * 2,
        *["Estimating the typical order: South"] * 2,
        "Drawing the chart",
        "Writing the report",
    )


def test_an_exception_of_the_progress_function_stops_the_computation() -> None:
    def cancelled(done: float, total: float, message: str) -> None:
        raise InterruptedError(message)

    with pytest.raises(InterruptedError):
        make_report(ORDERS, "sales", "region", cancelled)


def test_a_report_without_orders_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="no orders to report on: none is returned"):
        make_report(ORDERS[:1], "returns", "region", ignore)

"""Outcome of an evaluation as lines of text, and as JSON for scripts."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import shorten
from typing import Any

from django.template.defaultfilters import pluralize

from sessions_app.contrib.evaluation.comparison import CaseReport, Change, MetricReport, count_changes
from sessions_app.models import CaseStatus, Evaluation

MAX_ID_WIDTH = 40


def table_of(reports: Sequence[CaseReport]) -> Iterator[str]:
    """Yield the lines of a table with a row for each case and a column for each metric with a threshold."""
    names: list[str] = []
    for report in reports:
        for metric in report.metrics:
            if metric.threshold is not None and metric.name not in names:
                names.append(metric.name)
    rows = [["case", "result", *names], *(_row(report, names) for report in reports)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, case in zip(rows, [None, *reports], strict=True):
        cells = map(str.ljust, row, widths)
        yield "  ".join(cells).rstrip()
        if case and case.row.status == CaseStatus.BROKEN:
            yield f"    {shorten(_printable(case.row.error), 200)}"


def counted(evaluation: Evaluation) -> str:
    """Return the number of cases in words."""
    return f"{evaluation.case_count} case{pluralize(evaluation.case_count)}"


def summary_of(evaluation: Evaluation, reports: Sequence[CaseReport]) -> str:
    """Return the counts in words, with the changes since the previous evaluation."""
    counts = ", ".join(f"{number} {word}" for word, number in evaluation.counts.items())
    text = f"{counted(evaluation)}: {counts or 'none is left'}."
    if evaluation.previous is None:
        return f"{text} {_why_not_compared(evaluation)}"
    changes = count_changes(reports)
    listed = ", ".join(f"{changes[change]} {change}" for change in Change if changes[change])
    return f"{text} Since the run of {evaluation.previous.created_at:%Y-%m-%d %H:%M}: {listed or 'nothing to compare'}."


def _why_not_compared(evaluation: Evaluation) -> str:
    earlier = Evaluation.objects.filter(
        app_name=evaluation.app_name, set_id=evaluation.set_id, created_at__lt=evaluation.created_at
    )
    return "No earlier run was completed." if earlier.exists() else "This is the first run."


def as_json(evaluation: Evaluation, reports: Sequence[CaseReport], page: str) -> dict[str, Any]:
    """Return the outcome for scripts; `page` is the address of its page in the admin."""
    return {
        "evaluation": str(evaluation.pk),
        "app": evaluation.app_name,
        "set": evaluation.set_id,
        "previous": evaluation.previous_id and str(evaluation.previous_id),
        "page": page,
        "passed": evaluation.passed,
        "failed": evaluation.failed,
        "broken": evaluation.broken,
        "cancelled": evaluation.cancelled,
        "cases": [_case_json(report) for report in reports],
    }


def _case_json(report: CaseReport) -> dict[str, Any]:
    metrics = {}
    for metric in report.metrics:
        values = asdict(metric)
        metrics[values.pop("name")] = values
    return {
        "eval_id": report.row.eval_id,
        "status": report.row.status,
        "change": report.change,
        "error": report.row.error,
        "metrics": metrics,
    }


def _row(report: CaseReport, names: Sequence[str]) -> list[str]:
    metrics = {metric.name: metric for metric in report.metrics}
    eval_id = shorten(_printable(report.row.eval_id), MAX_ID_WIDTH, placeholder="…")
    cells = [_cell(metrics.get(name)) for name in names]
    return [eval_id, f"{report.row.status} ({report.change})", *cells]


def _cell(metric: MetricReport | None) -> str:
    if metric is None or metric.score is None:
        return "-"
    limit = f" < {metric.threshold:.2f}" if metric.is_failed else ""
    return f"{metric.score:.2f}{limit} ({metric.change})"


def _printable(text: str) -> str:
    """Return a text without control characters, with which a case could write to the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)

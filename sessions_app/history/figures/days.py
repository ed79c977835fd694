"""Figures of the last days for the overview, in one query without the logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from django.db.models import QuerySet, Sum
from django.utils import timezone

from sessions_app.models import DayFigure, DayMetric

Key = tuple[str, str]
"""Name and detail of an amount."""


@dataclass
class DayAmounts:
    """Amounts of a day, or sums over several days."""

    by_metric: dict[str, Counter[Key]] = field(default_factory=dict)

    def add(self, metric: str, key: Key, amount: float) -> None:
        self.by_metric.setdefault(metric, Counter())[key] += amount  # type: ignore[assignment]

    def total(self, metric: DayMetric) -> float:
        return sum(self.of(metric).values())

    def of(self, metric: DayMetric) -> Counter[Key]:
        """Return the amounts of a metric by name and detail."""
        return self.by_metric.get(metric, Counter())

    def by_name(self, metric: DayMetric) -> Counter[str]:
        found: Counter[str] = Counter()
        for (name, _), amount in self.of(metric).items():
            found[name] += amount
        return found

    @classmethod
    def sum(cls, several: Iterable[DayAmounts]) -> DayAmounts:
        found = cls()
        for day_amounts in several:
            for metric, amounts in day_amounts.by_metric.items():
                for key, amount in amounts.items():
                    found.add(metric, key, amount)
        return found


def local_day(moment: datetime | None = None) -> date:
    """Return the day of a moment, or today, in the site's time zone. All readers of figures get the same days."""
    return timezone.localdate(moment, timezone.get_default_timezone())


def load_days(figures: QuerySet[DayFigure], last: date, days: int) -> dict[date, DayAmounts]:
    """Return the amounts of the `days` days up to and including `last`, the oldest first."""
    found = {last - timedelta(days=age): DayAmounts() for age in reversed(range(days))}
    rows = figures.filter(day__in=list(found)).values_list("day", "metric", "name", "detail")
    for day, metric, name, detail, amount in rows.annotate(sum=Sum("amount")):
        found[day].add(metric, (name, detail), amount)
    return found

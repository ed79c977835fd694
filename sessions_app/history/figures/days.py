"""Amounts of days: a batch adds its amounts to the stored ones, and the overview reads the last days in one query.

Durations are counted in buckets. Percentiles cannot be added up, but counts can: sums of buckets over days and apps
give the percentiles of all. The buckets grow in proportion, so the relative error is the same for all durations.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import ceil, log2
from typing import Any, Self

from django.db import connection
from django.db.models import QuerySet, Sum
from django.utils import timezone

from sessions_app.models import ActiveDay, DayFigure, DayMetric, Failure

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
    def sum(cls, several: Iterable[Self]) -> Self:
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


STEPS = 4
"""Number of buckets for each doubling of a duration. With four, a percentile is at most a fifth too high."""
MIN_SECONDS, MAX_SECONDS = 2**-6, 2**14


def bucket_of(seconds: float) -> str:
    """Return the name of the bucket of a duration."""
    return str(ceil(STEPS * log2(min(max(seconds, MIN_SECONDS), MAX_SECONDS))))


def percentile(counts: Mapping[str, float], share: float) -> float | None:
    """Return the duration in seconds not exceeded by `share` (0 to 1) of the durations; None without a count."""
    total = sum(counts.values())
    seen = 0.0
    for bucket, count in sorted((int(name), count) for name, count in counts.items()):
        seen += count
        if seen >= share * total and count > 0:
            return float(2 ** (bucket / STEPS))
    return None


DayKey = tuple[date, str, str, str, str]
"""Day, app, metric, name and detail of a `DayFigure`."""
DAYS_KEPT = 400
ACTIVE_DAYS_KEPT = 60


@dataclass
class BatchAmounts:
    """Amounts of the sessions of a batch by day, with their failures and active people."""

    days: Counter[DayKey] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    active: set[tuple[date, Any]] = field(default_factory=set)


def add_amounts(amounts: BatchAmounts) -> None:
    """Add the amounts of a batch. A person counts once a day."""
    people = _newly_active(amounts.active)
    for day in people:
        amounts.days[day, "", DayMetric.PEOPLE, "", ""] += 1
    Failure.objects.bulk_create(amounts.failures)
    _add_to_days(sorted(amounts.days.items()))


def delete_old_days() -> None:
    """Delete amounts after `DAYS_KEPT` days, and active days after `ACTIVE_DAYS_KEPT` days."""
    today = local_day()
    ActiveDay.objects.filter(day__lt=today - timedelta(days=ACTIVE_DAYS_KEPT)).delete()
    DayFigure.objects.filter(day__lt=today - timedelta(days=DAYS_KEPT)).delete()


def _newly_active(active: set[tuple[date, Any]]) -> list[date]:
    """Store pairs of day and person; return the day of each new pair."""
    if not active:
        return []
    days, people = zip(*sorted(active), strict=True)
    # The type of the key depends on the project's user model.
    key_type = ActiveDay._meta.get_field("user").db_type(connection)
    query = f"""
        INSERT INTO {ActiveDay._meta.db_table} (day, user_id) SELECT * FROM unnest(%s::date[], %s::{key_type}[])
        ON CONFLICT (day, user_id) DO NOTHING RETURNING day"""  # noqa: S608 (names of a model)
    with connection.cursor() as cursor:
        cursor.execute(query, [list(days), list(people)])
        return [day for (day,) in cursor.fetchall()]


def _add_to_days(amounts: list[tuple[DayKey, float]]) -> None:
    if not amounts:
        return
    rows = [(*key, float(amount)) for key, amount in amounts]
    columns = [list(column) for column in zip(*rows, strict=True)]
    query = f"""
        INSERT INTO {DayFigure._meta.db_table} AS stored (day, app_name, metric, name, detail, amount)
        SELECT * FROM unnest(%s::date[], %s::text[], %s::text[], %s::text[], %s::text[], %s::float8[])
        ON CONFLICT (day, metric, app_name, name, detail)
        DO UPDATE SET amount = stored.amount + EXCLUDED.amount"""  # noqa: S608 (names of a model)
    with connection.cursor() as cursor:
        cursor.execute(query, columns)

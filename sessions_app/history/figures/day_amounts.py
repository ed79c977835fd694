"""Stored amounts of days: a batch adds its amounts to those of earlier batches."""

from datetime import date, timedelta
from typing import Any

from django.db import connection

from sessions_app.history.figures.days import local_day
from sessions_app.history.figures.session_counts import BatchAmounts, DayKey
from sessions_app.models import ActiveDay, DayFigure, DayMetric, Failure

DAYS_KEPT = 400
ACTIVE_DAYS_KEPT = 60


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

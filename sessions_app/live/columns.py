"""Columns of a row as values for the channel layer, so that other processes can render the row without a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model

M = TypeVar("M", bound=Model)


def columns_of(row: Model, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of the columns by name, with times and UUIDs as texts."""
    return {name: _json_value(getattr(row, name)) for name in names}


def row_of(model: type[M], columns: Mapping[str, Any]) -> M:
    """Return a row with the values that `columns_of` has returned, and the defaults of all other columns."""
    fields = {field.attname: field for field in model._meta.concrete_fields}
    return model(**{name: fields[name].to_python(value) for name, value in columns.items()})


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value

"""Past attempts of an invocation or a job; the other columns of the row describe the newest attempt."""

from typing import Any

from django.db.models import Case, F, Func, JSONField, Q, Value, When
from django.db.models.functions import JSONObject

MAX_KEPT_ATTEMPTS = 50
"""Number of newest attempts kept in a row: users may retry without limit."""


class PastAttemptsField(JSONField):
    """List of attempts, oldest first.

    An attempt is an object with `number`, `worker`, `started_at`, `ended_at`, `error`, and `detail` for staff with the
    permission `view_error_detail`; that of an invocation has the version of its `agent`. An attempt that was retried on
    request has `retried_at`, and `retry_id`, the id of the request, if it had an id. The newest attempt is in the
    columns of the row.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **{"default": list, "db_default": Value([], JSONField()), "editable": False, **options}
        )


def with_failed_attempt() -> Case:
    """Return an SQL expression for the past attempts of a job, with the last attempt if it left an error."""
    last = JSONObject(
        number="attempts",
        worker="worker",
        started_at="started_at",
        ended_at="heartbeat_at",
        error="error",
        detail="error_detail",
    )
    # `||` appends an object to a jsonb array.
    longer = Func(F("past_attempts"), last, template="(%(expressions)s)", arg_joiner=" || ")
    return Case(When(~Q(error=""), then=longer), default=F("past_attempts"), output_field=JSONField())

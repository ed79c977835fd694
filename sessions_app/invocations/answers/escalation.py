"""Escalation of requests without an answer in time: a mail to staff, or a no by the site (`answer_limits`).

A sweep applies the limits. The mail is stored in the transaction that marks its requests as escalated. The no is an
answer like any other: it counts only if it is the first.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from sessions_app.base import actors
from sessions_app.conf import AnswerLimit, conf
from sessions_app.errors import ConflictError
from sessions_app.invocations.answers.outside_chat import answer_request
from sessions_app.models import AnswerRequest
from sessions_app.process import threads
from sessions_app.process.group_mail import admin_link, mail_group
from sessions_app.process.sweeping import BATCH_SIZE, OverdueRows, Repair

TOO_LATE = gettext_noop("Nobody answered in time.")


def escalations() -> list[Repair]:
    """Return the repairs for overdue requests; none when the site has no limits."""
    if not conf().answer_limits:
        return []
    return [_mail_overdue, OverdueRows(_find_overdue, _reject)]


def limit_of(tool_name: str) -> AnswerLimit | None:
    """Return the limit for the requests of a tool; None without a limit."""
    limits = conf().answer_limits
    return limits.get(tool_name) or limits.get("")


def _of_tools(name: str) -> Q:
    """Return a filter for the requests of a key of `answer_limits`; "" is for all tools without a key."""
    return Q(tool_name=name) if name else ~Q(tool_name__in=[key for key in conf().answer_limits if key])


def _older_than(seconds: float) -> Q:
    return Q(asked_at__lt=Now() - timedelta(seconds=seconds))


def _mail_overdue(seconds: float) -> bool:
    for name, limit in conf().answer_limits.items():
        if limit.mail_seconds:
            _mail_once(_of_tools(name), limit)
    return False


def _mail_once(of_tools: Q, limit: AnswerLimit) -> None:
    overdue = AnswerRequest.objects.open().filter(
        of_tools, _older_than(limit.mail_seconds), escalated_at=None
    )
    with transaction.atomic():
        # SKIP LOCKED: another sweep is storing the mail about these rows.
        locked = overdue.select_related("session").select_for_update(of=("self",), skip_locked=True)
        rows = list(locked.order_by("asked_at")[:BATCH_SIZE])
        if not rows:
            return
        mail_group(limit.mail_group, f"{len(rows)} waiting for an answer", _describe_requests(rows))
        AnswerRequest.objects.filter(pk__in=[row.pk for row in rows]).update(escalated_at=Now())


def _describe_requests(rows: Iterable[AnswerRequest]) -> list[str]:
    # Without words of the conversation: a member of the group may lack the permission to read texts.
    lines = []
    for row in rows:
        link = admin_link("sessions_app_answerrequest_change", row.pk)
        lines.append(
            f"{row.tool_name} ({row.session.app_name}), since {row.asked_at:%Y-%m-%d %H:%M} UTC {link}"
        )
    return lines


def _find_overdue() -> QuerySet[AnswerRequest]:
    """Return the overdue requests that can be answered by a no."""
    limits = conf().answer_limits.items()
    overdue = [
        _of_tools(name) & _older_than(limit.reject_seconds) for name, limit in limits if limit.reject_seconds
    ]
    if not overdue:
        return AnswerRequest.objects.none()
    waiting = AnswerRequest.objects.open().yes_or_no().filter(Q(*overdue, _connector=Q.OR))
    return waiting.select_related("session", "job").order_by("asked_at")


def _reject(row: AnswerRequest) -> None:
    with suppress(ConflictError):  # Somebody has just answered.
        threads.run(answer_request(row, False, by=actors.SITE, reason=TOO_LATE))

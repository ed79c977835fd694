"""Errors for messages and invocations above a limit of the site."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from runtime.errors import AdkError
from sessions_app.conf import conf
from sessions_app.errors import ConflictError, LimitExceededError
from sessions_app.store.sql.admission_limits import AdmissionRefusal

USER = gettext_noop(
    "Too many of your messages are being answered at once. "
    "Wait until one of them is complete, then send this again."
)
APP = gettext_noop("Too many people are being answered at once. Send this again in a moment.")
TOKENS = gettext_noop("You have used today's {0} tokens. Try again after midnight ({1}).")
COST = gettext_noop("Today's limit of cost, {0}, is reached. Try again after midnight ({1}).")
KEY = gettext_noop("The API key has used its tokens of today. Try again after midnight ({0}).")


def error_of(refusal: AdmissionRefusal) -> AdkError:
    """Return the error for a refused message."""
    if refusal == AdmissionRefusal.POLICY:
        return ConflictError(
            "Your last message is still being answered. Wait until it is complete, or stop it."
        )
    if refusal == AdmissionRefusal.QUEUE:
        return LimitExceededError(
            f"{conf().max_queued_messages_per_user} of your messages are waiting to be answered. "
            "Wait until one of them is answered, then send this again."
        )
    if refusal == AdmissionRefusal.KEY:
        return LimitExceededError(KEY.format(settings.TIME_ZONE), retry_seconds=_seconds_to_midnight())
    if refusal == AdmissionRefusal.TOKENS:
        return LimitExceededError(TOKENS.format(conf().max_tokens_per_user, settings.TIME_ZONE))
    if refusal == AdmissionRefusal.COST:
        return LimitExceededError(COST.format(f"{conf().max_cost_per_user:g}", settings.TIME_ZONE))
    return LimitExceededError(USER if refusal == AdmissionRefusal.USER else APP)


def _seconds_to_midnight() -> float:
    now = timezone.localtime(timezone=timezone.get_default_timezone())
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight.timestamp() - now.timestamp()

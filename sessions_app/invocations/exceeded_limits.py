"""Sentences for a person or an API key that has used up the tokens or the cost of a day."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError

TOKENS = gettext_noop("You have used today's {0} tokens. Try again after midnight ({1}).")
COST = gettext_noop("You have used today's {0} of cost. Try again after midnight ({1}).")
KEY = gettext_noop("The API key has used its tokens of today. Try again after midnight ({0}).")


def sentence(excess: str) -> str:
    """Return the sentence for the limit of a day that a claim exceeds: "tokens", "cost" or "key"."""
    if excess == "key":
        return KEY.format(settings.TIME_ZONE)
    if excess == "tokens":
        return TOKENS.format(conf().tokens_per_person, settings.TIME_ZONE)
    return COST.format(f"{conf().cost_per_person:g}", settings.TIME_ZONE)


def spent_key() -> LimitExceededError:
    """Return the error for a request with an API key that has used up its tokens, with the time until midnight."""
    now = timezone.localtime(timezone=timezone.get_default_timezone())
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return LimitExceededError(sentence("key"), retry_seconds=midnight.timestamp() - now.timestamp())

"""Limits on the size and the rate of the frames that a browser sends."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.errors import AdkError
from sessions_app.chat import protocol
from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError, TooLargeError
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.sessions.ownership import User


@dataclass(frozen=True)
class ExceededLimit:
    """A limit that a frame exceeds, and the code with which the socket of the frame is closed."""

    error: AdkError
    close_code: int


def exceeded_limit(text: str, user: User, network: str) -> ExceededLimit | None:
    """Count a frame; return the limit on rate or size that it exceeds, or None when the frame may be read."""
    if exceeded := rates().count(quotas.frames(user.pk, network)):
        too_many = LimitExceededError(f"More than {exceeded.quota.most} frames in a minute. Wait a minute.")
        return ExceededLimit(too_many, protocol.CLOSE_TOO_MANY)
    if len(text) > conf().frame_limit:
        too_large = TooLargeError(f"The frame is larger than {conf().frame_limit} characters.")
        return ExceededLimit(too_large, protocol.CLOSE_TOO_LARGE)
    return None

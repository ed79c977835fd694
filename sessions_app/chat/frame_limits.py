"""Limits on the size and the rate of the frames that a browser sends."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.errors import AdkError
from sessions_app.chat import protocol
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, LimitExceededError
from sessions_app.limits import allowance
from sessions_app.limits.rates import rates
from sessions_app.ownership import User


@dataclass(frozen=True)
class Refusal:
    """Why a frame is not read, and the code with which its socket is closed."""

    error: AdkError
    close_code: int


def refusal_of(text: str, user: User, network: str) -> Refusal | None:
    """Count a frame; return why it is above the rate or size limit, or None when it may be read."""
    if exceeded := rates().count(allowance.frames(user.pk, network)):
        too_many = LimitExceededError(
            f"More than {exceeded.allowance.most} frames in a minute. Wait a minute."
        )
        return Refusal(too_many, protocol.CLOSE_TOO_MANY)
    if len(text) > conf().frame_limit:
        too_large = InvalidInputError(f"The frame is larger than {conf().frame_limit} characters.")
        return Refusal(too_large, protocol.CLOSE_TOO_LARGE)
    return None

"""Limits on the size and the rate of frames from browsers."""

from __future__ import annotations

from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError, TooLargeError
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.sessions.ownership import User


def count_frame(text: str, user: User, network: str) -> None:
    """Count a frame and check its size.

    Raises:
        LimitExceededError: the user or the client's network has sent too many frames in this minute.
        TooLargeError: the frame has more than `frame_limit` characters.
    """
    # The rate first: frames that are too large count as well.
    if exceeded := rates().count(quotas.frames(user.pk, network)):
        raise LimitExceededError(f"Requests are limited to {exceeded.quota.most} a minute. Wait a minute.")
    if len(text) > conf().frame_limit:
        raise TooLargeError(f"The frame is larger than {conf().frame_limit} characters.")

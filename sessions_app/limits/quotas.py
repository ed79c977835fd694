"""Quotas: limits for a person, an address or an API key on things in a window of time, or open at once."""

from dataclasses import dataclass
from typing import Any

from sessions_app.conf import conf

MINUTE, HOUR = 60, 3600
MAX_BEGUN_SIGN_INS = 60
"""Sign-ins at other services that a person begins in an hour. Each sends requests to the service."""


@dataclass(frozen=True)
class Quota:
    """Largest number of things of a kind for a person, address or key.

    Attributes:
        key: name of the counter, such as `frames:person:7`.
        most: largest number; never 0.
        seconds: duration of the window for counting; 0 for things open at once.
    """

    key: str
    most: int
    seconds: int = 0


def open_sockets(user_pk: Any, network: str) -> list[Quota]:
    """Return the limits on sockets open at once."""
    return _quotas("sockets", user_pk, network, conf().max_sockets_per_user, conf().max_sockets_per_address)


def frames(user_pk: Any, network: str) -> list[Quota]:
    """Return the limits on frames in a minute."""
    most = conf().max_frames_per_user, conf().max_frames_per_address
    return _quotas("frames", user_pk, network, *most, MINUTE)


def frames_of_address(network: str) -> list[Quota]:
    """Return the limit on frames from an address in a minute."""
    return _quotas("frames", "", network, 0, conf().max_frames_per_address, MINUTE)


def requests(key_id: Any, most: int) -> Quota:
    """Return the limit on the requests with an API key in a minute."""
    return Quota(f"requests:key:{key_id}", most, MINUTE)


def new_sessions(user_pk: Any, network: str) -> list[Quota]:
    """Return the limits on new sessions in an hour."""
    most = conf().max_new_sessions_per_user, conf().max_new_sessions_per_address
    return _quotas("sessions", user_pk, network, *most, HOUR)


def sign_ins(network: str) -> list[Quota]:
    """Return the limit on an address's attempts to sign in in an hour."""
    return _quotas("sign-ins", "", network, 0, conf().max_sign_ins_per_address, HOUR)


def begun_sign_ins(user_pk: Any) -> list[Quota]:
    """Return the limit on sign-ins at other services that a person begins in an hour."""
    return _quotas("begun-sign-ins", user_pk, "", MAX_BEGUN_SIGN_INS, 0, HOUR)


def _quotas(
    kind: str, user_pk: Any, network: str, of_person: int, of_address: int, seconds: int = 0
) -> list[Quota]:
    """Return a quota for each limit other than 0. Without a network only the person is counted."""
    pairs = [(f"{kind}:person:{user_pk}", of_person), (f"{kind}:address:{network}", network and of_address)]
    return [Quota(key, int(most), seconds) for key, most in pairs if most]

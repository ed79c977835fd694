"""Troubleshooting guides of the technical agent, found by the words in a problem."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Guide:
    """Steps that solve a problem.

    Attributes:
        title: the problem in a sentence.
        words: words that people use for this problem.
        steps: instructions, in order.
    """

    title: str
    words: frozenset[str]
    steps: tuple[str, ...]


GUIDES = (
    Guide(
        "The printer does not print",
        frozenset({"printer", "print", "prints", "printing", "paper", "ink", "toner", "jam"}),
        (
            "Switch the printer off and pull its plug; if it smokes or burns, leave it unplugged and call 112.",
            "Take out the paper tray and look for torn paper.",
            "Plug it in again, wait for a minute, and print a test page.",
        ),
    ),
    Guide(
        "The network is slow or gone",
        frozenset({"wifi", "wlan", "internet", "network", "router", "connection", "offline", "slow"}),
        (
            "Restart the router and wait for two minutes.",
            "Try with a cable: if that is fast, the radio is the trouble.",
            "Move the router away from microwaves and thick walls.",
        ),
    ),
    Guide(
        "Signing in fails",
        frozenset({"password", "login", "sign", "signing", "account", "locked", "code"}),
        (
            "Check that caps lock is off and that the user name has no blank at its end.",
            "Choose 'Forgotten password' on the sign-in page, and look into the spam folder for the e-mail.",
            "Wait for fifteen minutes after five wrong attempts: the account is locked for that long.",
        ),
    ),
    Guide(
        "The screen stays dark",
        frozenset({"screen", "monitor", "display", "dark", "black", "flicker", "flickers"}),
        (
            "Press the monitor's own power button and look for its light.",
            "Push the video cable in at both ends.",
            "Try another input with the monitor's menu button.",
        ),
    ),
)


def find_guide_for(problem: str) -> Guide | None:
    """Return the guide that shares the most words with the problem, or None if none shares any."""
    words = set(re.findall(r"[a-z]+", problem.lower().replace("wi-fi", "wifi")))
    best = max(GUIDES, key=lambda guide: len(guide.words & words))
    return best if best.words & words else None

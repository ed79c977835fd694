"""Reduce texts to comparable word stems, and names to readable words."""

from __future__ import annotations

import re

_STOP_WORDS = """
a about agent all also am an and any anything are as at be because been but by can could did do does for from
get give given go had has have help here hello her hey hi him his how i if in into is it its just know let like make
many me mine more much my need no not now of off ok on once one only or other our out over person please question she
so some someone something such sure tell than thank thanks that the their them then there these they thing things this
those to too us use used user want wants was we were what when where which who whose why will with would yes yet you
your
""".split()


def stems(text: str) -> set[str]:
    """Return the stems of all words of the text but its stop words."""
    found = re.findall(r"[^\W_]+", text.lower())
    return {stem(word) for word in found if word not in _STOP_WORDS and len(word) > 1}


def stem(word: str) -> str:
    """Strip common endings, so that `orders`, `ordered` and `ordering` have the same stem."""
    for ending in ("s", "ing", "ed", "e"):
        if len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
    return word


def readable(name: str) -> str:
    """Return a name such as `order_status` as separate words."""
    return name.replace("_", " ")


def first_paragraph(text: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(text.strip().split("\n\n")[0].split())

"""Characters of the world's scripts, as parts of regular expressions' classes."""

from collections.abc import Iterator
from itertools import chain
from unicodedata import category

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3031-\u3035\u3041-\u309f\u30a1-\u30fa\u30fc-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # Chinese and Japanese, with the lines above
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc"  # Korean
)
"""Letters of languages that write no space between a name and what follows it, such as a particle."""
JOINERS = "\u200c\u200d"
"""Invisible characters within words of some languages."""


def _signs() -> Iterator[str]:
    # Blocks of letters are left out: the categories of all characters take five times as long to read.
    for number in chain(range(0xA1, 0x3400), range(0xFD00, 0x10000)):
        character = chr(number)
        if category(character)[0] in "PS" or (category(character) == "Cf" and character not in JOINERS):
            yield character


SIGNS = "".join(_signs()) + "\U0001f000-\U0001faff"
"""Punctuation, symbols and invisible signs outside of ASCII: quotation marks, dashes, full-width marks, emoji."""

"""Python's garbage collector, told to leave a server's modules alone.

Without this it walks some 200,000 objects that are there to stay, again and again: a fifth of a second each time in
which no stream moves, and a fifth of the CPU time of a busy process.
"""

import gc

NEW_OBJECTS = 20_000
"""How many more containers were made than freed, before the youngest are looked at: a few turns' worth."""


def collect_rarely() -> None:
    """Call it when everything is loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 20, 20)

"""Garbage collector settings for processes that import the whole site.

The imports leave about 200,000 objects that the collector tracks. With Python's defaults it scans them again and again,
although they are permanent. In a server each scan blocks the event loop for a fifth of a second, and a busy process
spends a fifth of its CPU time on scans. The start of any process takes a fifth longer.
"""

import gc

YOUNG_THRESHOLD = 20_000
"""Net container allocations before a collection: a few invocations' worth. A scan takes three to five milliseconds, as
the objects are still in the processor's cache. With 80,000 it held the event loop for 20 to 30 ms."""
MIDDLE_THRESHOLD, OLD_THRESHOLD = -1, 800
"""Collections of a generation before the next older one is collected. With -1 each collection takes the middle one too,
so that an object is scanned once before it counts as old. With 0 every other collection takes the middle one: half of
the objects of a long session that is read are then scanned twice."""


def collect_less_often() -> None:
    """Raise the collector's thresholds. Call before the imports that create most objects."""
    gc.set_threshold(YOUNG_THRESHOLD, MIDDLE_THRESHOLD, OLD_THRESHOLD)


def exclude_permanent_objects() -> None:
    """Exclude all objects that exist now from collection. Call after all imports."""
    gc.collect()
    gc.freeze()

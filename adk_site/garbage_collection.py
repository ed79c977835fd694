"""Garbage collector settings for processes that import the whole site.

The imports leave about 200,000 tracked objects. With Python's defaults, the collector scans them again and again,
although they are permanent. In a server each scan blocks the event loop for a fifth of a second, and a busy process
spends a fifth of its CPU time on scans. Starting any process takes a fifth longer.
"""

import gc

YOUNG_THRESHOLD = 20_000
"""Net container allocations before a collection: those of a few invocations. A scan takes three to five milliseconds,
because the objects are still in the processor's cache. With 80,000, it blocked the event loop for 20 to 30 ms."""
MIDDLE_THRESHOLD, OLD_THRESHOLD = -1, 800
"""Collections of a generation before the next older generation is collected. With -1 each collection includes the
middle generation, so an object is scanned once before it counts as old. With 0 every other collection includes it, and
half of the objects of a long session are scanned twice while it is read."""


def collect_less_often() -> None:
    """Raise the collector's thresholds. Call this before the imports that create most objects."""
    gc.set_threshold(YOUNG_THRESHOLD, MIDDLE_THRESHOLD, OLD_THRESHOLD)


def exclude_permanent_objects() -> None:
    """Exclude all existing objects from collection. Call this after all imports."""
    # Collect first: garbage that is frozen is never freed.
    gc.collect()
    gc.freeze()

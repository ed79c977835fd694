"""Garbage collector settings for processes that import the whole site.

The imports leave about 200,000 objects that the collector tracks. With Python's defaults it scans them again and again,
although they are permanent. In a server each scan blocks the event loop for a fifth of a second, and a busy process
spends a fifth of its CPU time on scans. The start of any process takes a fifth longer.
"""

import gc

YOUNG_THRESHOLD = 20_000
"""Net container allocations before the youngest generation is collected: a few invocations' worth."""
MIDDLE_THRESHOLD, OLD_THRESHOLD = 0, 400
"""Collections of a generation before the next older one is collected. The middle one is collected every other time,
with 20,000 to 40,000 objects, which are still in the processor's cache. With 80,000 objects, a scan held the event loop
for 20 to 30 ms in place of 6 to 13 ms while a long session was read, and all scans took twice as long."""


def collect_less_often() -> None:
    """Raise the collector's thresholds. Call before the imports that create most objects."""
    gc.set_threshold(YOUNG_THRESHOLD, MIDDLE_THRESHOLD, OLD_THRESHOLD)


def exclude_permanent_objects() -> None:
    """Exclude all objects that exist now from collection. Call after all imports."""
    gc.collect()
    gc.freeze()

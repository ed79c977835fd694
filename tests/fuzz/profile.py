"""How long the fuzz tests run: a minute in all, always the same examples; with `FUZZ=1` much longer, and new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

IS_LONG = os.environ.get("FUZZ") == "1"
LONG_FACTOR = 100


def examples(number: int) -> settings:
    """Settings for a test with so many examples, many more in a long run."""
    return settings(
        max_examples=number * (LONG_FACTOR if IS_LONG else 1),
        derandomize=not IS_LONG,
        database=None,
        deadline=None,
        phases=list(Phase) if IS_LONG else [Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

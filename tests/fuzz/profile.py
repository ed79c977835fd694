"""Duration of the fuzz tests: a short time with the same examples in `make test`, longer with new ones on demand."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

LONG = "long"
LONG_FACTOR = 100

settings.register_profile(LONG, settings())


def examples(number: int) -> settings:
    """Return the settings of a test with so many examples, and many more with `--hypothesis-profile=long`."""
    is_long = settings.get_current_profile_name() == LONG
    return settings(
        max_examples=number * (LONG_FACTOR if is_long else 1),
        derandomize=not is_long,
        database=None,
        deadline=None,
        phases=list(Phase) if is_long else [Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

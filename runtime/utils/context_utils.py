"""Public path of `Aclosing`, which is Python's `contextlib.aclosing`."""

from contextlib import aclosing as Aclosing

__all__ = ["Aclosing"]

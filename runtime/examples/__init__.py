"""Examples of good answers, to show to a model."""

from runtime.examples.base_example_provider import BaseExampleProvider
from runtime.examples.example import Example

__all__ = ["BaseExampleProvider", "Example"]

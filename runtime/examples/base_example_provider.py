"""The contract of an example provider."""

import abc

from runtime.examples.example import Example


class BaseExampleProvider(abc.ABC):
    """Choose examples for a message."""

    @abc.abstractmethod
    def get_examples(self, query: str) -> list[Example]:
        """Return the most helpful examples for the message, best first."""

"""The tables whose texts get vectors: memory entries, and passages of knowledge bases."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from sessions_app.models import KnowledgePassage, KnowledgeVector, MemoryEntry, MemoryVector


@dataclass(frozen=True)
class EmbeddedTable:
    """A table with texts, and the table of their vectors.

    Attributes:
        texts: has the columns `words`, empty for a text without a vector, and `embedded_by`.
        vectors: has the columns `model` and `numbers`.
        reference: name of the reference from a vector to its text.
        user: look-up from a text to the user for whom its embedding counts; None for nobody.
        columns: columns of the text.
        index: beginning of the names of the indexes of `vectors`; the key of the model follows.
    """

    texts: type[Model]
    vectors: type[Model]
    reference: str
    user: str
    columns: tuple[str, ...]
    index: str

    def text_of(self, values: tuple[Any, ...]) -> str:
        """Return the text of the values of `columns`: plain texts, or ADK content as JSON."""
        texts = []
        for value in values:
            if isinstance(value, dict):
                texts.append("".join(part.get("text", "") for part in value["parts"]))
            elif value:
                texts.append(value)
        return "\n".join(texts)


MEMORY = EmbeddedTable(
    MemoryEntry, MemoryVector, "entry", "user", columns=("content",), index="memory_meaning_"
)
KNOWLEDGE = EmbeddedTable(
    KnowledgePassage,
    KnowledgeVector,
    "passage",
    "version__uploaded_by",
    columns=("heading", "text"),
    index="knowledge_meaning_",
)
EMBEDDED_TABLES = (MEMORY, KNOWLEDGE)

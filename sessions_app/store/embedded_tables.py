"""The tables whose texts get vectors: memory entries, and passages of knowledge bases."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q

from sessions_app.models import KnowledgePassage, KnowledgeVector, MemoryEntry, MemoryVector
from sessions_app.models.memory import MEMORY_PARTS


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
        parts: number of indexes of a model's vectors. With more than one, the column `part` says which has a vector.
    """

    texts: type[Model]
    vectors: type[Model]
    reference: str
    user: str
    columns: tuple[str, ...]
    index: str
    parts: int = 1

    def indexes_of(self, model_pk: int) -> dict[str, Q]:
        """Return the conditions of the indexes of a model's vectors, by name."""
        name = f"{self.index}{model_pk}"
        of_model = Q(model=model_pk)
        if self.parts == 1:
            return {name: of_model}
        return {f"{name}_{part}": of_model & Q(part=part) for part in range(self.parts)}

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
    MemoryEntry,
    MemoryVector,
    "entry",
    "user",
    columns=("content",),
    index="memory_meaning_",
    parts=MEMORY_PARTS,
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

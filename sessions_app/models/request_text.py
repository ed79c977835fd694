"""RequestText: a text repeated by model requests, stored once. SessionText: the sessions with references to it."""

from django.db import models
from django.db.models.lookups import Exact

_HALF_OF_HASH = models.Func(
    "text",
    template="substring(sha256(convert_to(%(expressions)s, 'UTF8')) FOR 16)",
    output_field=models.BinaryField(),
)
_BYTES_OF_ID = models.Func("id", function="uuid_send", output_field=models.BinaryField())


class RequestText(models.Model):
    """A piece of model requests, as JSON: an instruction, declarations of tools, a configuration, or a content.

    Attributes:
        id: the first half of the SHA-256 of the text.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    text = models.TextField()

    class Meta:
        """Records of model requests name their texts by these ids, so no process can change what a record says."""

        constraints = [
            models.CheckConstraint(
                condition=Exact(_BYTES_OF_ID, _HALF_OF_HASH), name="request_text_has_its_hash"
            )
        ]

    def __str__(self) -> str:
        return self.id.hex


class SessionText(models.Model):
    """A reference of a session to a text. An erasure deletes the texts whose last reference it removes."""

    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="request_texts"
    )
    # No foreign key: an append must not fail because an erasure has just deleted the text.
    text_id = models.UUIDField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "text_id"], name="session_text_unique"),
        ]

    def __str__(self) -> str:
        return self.text_id.hex

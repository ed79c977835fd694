"""RequestText: a text repeated by model requests, stored once. SessionText: the sessions with references to it."""

from django.db import models


class RequestText(models.Model):
    """A piece of model requests, as JSON: an instruction, declarations of tools, a configuration, or a content.

    Attributes:
        id: the first half of the SHA-256 of the text.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    text = models.TextField()

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

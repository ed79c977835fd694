"""Pack: the file with the events of a session that nobody has used for long."""

from django.db import models
from django.db.models.functions import Now

FOLDER = "packs"


class Pack(models.Model):
    """A file of events, and the evidence that they come back unchanged. Only functions of the database write the row.

    The row stays when the session is opened: the session can be packed again without a new file. Once the session has
    gone on, the file is of no use; the next pack replaces it.

    Attributes:
        sha256: of the whole file.
        digest: hash over the rows of the events (`adk_digest_of_log`).
        hash: hash of the last event in the chain of the log.
        acts: who did what in the session until it was packed, for the record of its erasure.
        opened_at: time at which the events returned to the tables; null while they are in the file only.
    """

    # `adk_erase_session` deletes the row.
    session = models.OneToOneField("sessions_app.Session", on_delete=models.DO_NOTHING, primary_key=True)
    file = models.FileField(max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    last_seq = models.BigIntegerField()
    digest = models.BinaryField()
    hash = models.BinaryField()
    acts = models.JSONField()
    packed_at = models.DateTimeField(db_default=Now())
    opened_at = models.DateTimeField(null=True)

    class Meta:
        """Staff see no packs: whoever may read a session opens its pack."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"pack of session {self.pk}"

"""WaitingMail: a mail that is stored with what it reports, and sent afterwards."""

from django.db import models
from django.db.models.functions import Now


class WaitingMail(models.Model):
    """A mail to a group; the sweep deletes the row with the sending.

    Attributes:
        due_at: time of the next attempt.
    """

    group = models.CharField(max_length=150)
    subject = models.TextField()
    text = models.TextField()
    due_at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        """Without a page in the admin."""

        default_permissions = ()

    def __str__(self) -> str:
        return f"mail to {self.group}: {self.subject}"

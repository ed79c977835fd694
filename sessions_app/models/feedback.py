"""Feedback: a user's opinion of an answer."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

MAX_COMMENT_LENGTH = 2_000


class Rating(models.TextChoices):
    """Opinions of an answer."""

    GOOD = "good"
    BAD = "bad"


class Feedback(models.Model):
    """A user's opinion of an event. The user may change the opinion.

    Attributes:
        seq: number of the event in its session; no foreign key, because events are deleted only with their session.
    """

    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="feedback")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    seq = models.BigIntegerField()
    rating = models.CharField(max_length=8, choices=Rating.choices)
    comment = models.TextField(blank=True, max_length=MAX_COMMENT_LENGTH, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "feedback"
        constraints = [
            models.UniqueConstraint(fields=["session", "seq", "user"], name="feedback_one_per_event")
        ]

    def __str__(self) -> str:
        return f"{self.rating} #{self.seq}"

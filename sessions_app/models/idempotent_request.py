"""IdempotentRequest: a request with an idempotency key, and the response to its repetitions."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

MAX_KEY_LENGTH = 128


def is_usable_key(key: str) -> bool:
    """Return True if the table can store the key."""
    return 0 < len(key) <= MAX_KEY_LENGTH and key.isascii() and key.isprintable()


class IdempotentRequest(models.Model):
    """A request, deleted with its session and its user, because the response may quote them.

    Attributes:
        caller: the user or the API key of the request. Two callers may use the same idempotency key.
        key: the header `Idempotency-Key`.
        fingerprint: SHA-256 of method, address and body.
        attempt: random id of the latest attempt at the request, the only attempt allowed to store the response.
        locked_until: time after which the process of the attempt counts as dead, and another may take over.
        status: status of the response; null until there is a response.
        location: header of the response.
        is_repeated: True in an attempt after another process died; not stored.
    """

    is_repeated = False

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(
        "sessions_app.Session", on_delete=models.CASCADE, related_name="idempotent_requests", null=True
    )
    caller = models.CharField(max_length=64)
    key = models.CharField(max_length=MAX_KEY_LENGTH)
    fingerprint = models.CharField(max_length=64)
    attempt = models.UUIDField()
    locked_until = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(default="", db_default="")
    location = models.TextField(default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        # The claim of a key: of two requests with the same key at the same time, one inserts the row.
        constraints = [models.UniqueConstraint(fields=["caller", "key"], name="idempotent_request_key")]
        indexes = [models.Index(fields=["created_at"], name="idempotent_request_by_age")]

    def __str__(self) -> str:
        return f"request {self.key}"

"""CallError: the exception of a tool, for staff. The user and the model get the response of the call only."""

from django.db import models
from django.db.models.functions import Now

ERROR_LENGTH = 200


class CallError(models.Model):
    """An exception, stored in the statement of the commit of the event with the response.

    Attributes:
        seq: number of the event with the response in its session.
        error: name of the exception's class.
        detail: the traceback, as `sessions_app.secrets.error_detail` masks and cuts it.
    """

    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="call_errors")
    seq = models.BigIntegerField()
    call_id = models.TextField()
    tool_name = models.TextField()
    error = models.CharField(max_length=ERROR_LENGTH)
    detail = models.TextField(editable=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        # Staff need the permission `view_error_detail`.
        default_permissions = ()
        indexes = [
            models.Index(fields=["session", "seq"], name="call_error_of_event"),
            models.Index(fields=["at", "id"], name="call_error_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name}: {self.error}"

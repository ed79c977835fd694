"""SessionAct: the record of an act on a session or its parts, by a user, staff or an agent."""

import json
from uuid import UUID

from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.base.actors import SITE, Act, ActionKind
from sessions_app.models.actor_columns import ActorColumns

_COLUMNS = tuple(Act(SITE, ActionKind.ADD, ("", "")).columns())


def insert_act(source: str, seq: str = "NULL::bigint") -> str:
    """Return the SQL of an INSERT of the parameter `act` for each row of a source.

    Args:
        source: name of a table, or a subquery, with the ids of sessions as `id`.
        seq: SQL expression for the `seq` of the event appended by the act.
    """
    # Part of larger statements, so an act is stored with its effect or not at all.
    return f"""
    INSERT INTO sessions_app_sessionact (session_id, seq, {", ".join(_COLUMNS)})
    SELECT source.id, {seq}, {", ".join(f"a.{column}" for column in _COLUMNS)}
    FROM {source} AS source, jsonb_populate_record(NULL::sessions_app_sessionact, %(act)s::jsonb) AS a"""  # noqa: S608


# Lock order: session row first. The check of the foreign key would lock the row later, after others.
LOCKED_SESSION = "(SELECT id FROM sessions_app_session WHERE id = %(session)s FOR KEY SHARE)"
INSERT_ACT = insert_act(LOCKED_SESSION)


def act_parameter(act: Act) -> str:
    return json.dumps(act.columns())


class SessionActManager(models.Manager["SessionAct"]):
    def record(self, session_id: UUID, act: Act) -> None:
        """Store the act, unless the session is gone. Call this before other rows of the session are locked."""
        with connection.cursor() as cursor:
            cursor.execute(INSERT_ACT, {"session": str(session_id), "act": act_parameter(act)})


class SessionAct(ActorColumns):
    """An act. Sending a message leaves no row here: the row of the invocation has the actor.

    Attributes:
        subject_kind: name of the model of the subject, such as `invocation`.
        subject_id: key of the subject as text: the ADK id of an invocation, the primary key of any other row.
        seq: number of the event appended by the act; None without an event.
    """

    # `adk_erase_session` deletes the acts.
    session = models.ForeignKey("sessions_app.Session", on_delete=models.DO_NOTHING, related_name="acts")
    action = models.CharField(max_length=16, choices=ActionKind.choices)
    subject_kind = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=128)
    seq = models.BigIntegerField(null=True, blank=True)
    reason = models.TextField(blank=True, default="", db_default="")
    at = models.DateTimeField(db_default=Now())

    objects = SessionActManager()

    class Meta:
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["session", "-id"], name="session_act_of_session"),
            models.Index(fields=["session", "seq"], condition=Q(seq__isnull=False), name="session_act_event"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.action} {self.subject_kind} {self.subject_id}"

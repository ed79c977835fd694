"""ActRequest: the request of a member of staff to do an act to which a second person must agree first."""

from datetime import timedelta
from typing import Any, Self

from django.db import models
from django.db.models import Case, Exists, OuterRef, Value, When
from django.db.models.functions import Now

from sessions_app.conf import conf
from sessions_app.models.actor_columns import ActorColumns


class GuardedAct(models.TextChoices):
    """Acts for which `second_person_for` may demand a second person."""

    UNMASK = "unmask"
    ERASE = "erase"


class RequestStage(models.TextChoices):
    """Progress of a request. An agreement ends with its request, `second_person_hours` after the request."""

    WAITING = "waiting"
    AGREED = "agreed"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    DONE = "done"
    ENDED = "ended"


class StepKind(models.TextChoices):
    """Steps that follow a request: the answer of the second person, and the act itself.

    The asker's own answer withdraws the request.
    """

    ANSWER = "answer"
    ACT = "act"


class ActRequestQuerySet(models.QuerySet["ActRequest"]):
    """Requests with their stage."""

    def with_stage(self) -> Self:
        """Annotate the requests with `stage`, a value of `RequestStage`."""
        steps = ActRequestStep.objects.filter(request=OuterRef("pk"))
        answers = steps.filter(kind=StepKind.ANSWER)
        oldest = Now() - timedelta(hours=conf().second_person_hours)
        stages = (
            When(Exists(steps.filter(kind=StepKind.ACT)), then=Value(RequestStage.DONE)),
            When(Exists(answers.filter(actor_id=OuterRef("actor_id"))), then=Value(RequestStage.WITHDRAWN)),
            When(Exists(answers.filter(agrees=False)), then=Value(RequestStage.REFUSED)),
            When(at__lte=oldest, then=Value(RequestStage.ENDED)),
            When(Exists(answers), then=Value(RequestStage.AGREED)),
        )
        return self.annotate(
            stage=Case(*stages, default=Value(RequestStage.WAITING), output_field=models.CharField())
        )


class ActRequest(ActorColumns):
    """A request. The actor asks and does the act later, after another has agreed.

    The row has no foreign keys, so it survives the account and the subject. It never changes: steps are rows, too.

    Attributes:
        subject_kind: name of the model of the subject: `session`, or that of the accounts.
        subject_id: primary key of the subject as text.
    """

    act = models.CharField(max_length=16, choices=GuardedAct.choices)
    subject_kind = models.CharField(max_length=64)
    subject_id = models.CharField(max_length=64)
    reason = models.TextField()
    at = models.DateTimeField("asked at", db_default=Now())

    objects = ActRequestQuerySet.as_manager()

    class Meta:
        verbose_name = "request to a second person"
        verbose_name_plural = "requests to a second person"
        default_permissions = ("view",)
        indexes = [models.Index(fields=["subject_kind", "subject_id"], name="act_request_subject")]

    def __str__(self) -> str:
        return f"{self.act} {self.subject_kind} {self.subject_id}"


class ActRequestStep(ActorColumns):
    """The answer to a request, or the act itself, each at most once.

    Attributes:
        agrees: False for an answer that refuses the act.
        reason: reason of the answer; empty for the act, which has that of the request.
    """

    request = models.ForeignKey(ActRequest, on_delete=models.PROTECT, related_name="steps")
    kind = models.CharField(max_length=16, choices=StepKind.choices)
    agrees = models.BooleanField(default=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        default_permissions = ()
        # The first answer counts, and an agreement is for one act.
        constraints = [models.UniqueConstraint(fields=["request", "kind"], name="act_request_step_once")]

    def __str__(self) -> str:
        return f"{self.kind} of request {self.request_id}"


def add_step(request: ActRequest, kind: StepKind, actor: dict[str, Any], **values: Any) -> bool:
    """Store a step; return False if the request has a step of this kind.

    Args:
        actor: columns of the actor.
    """
    _step, is_new = ActRequestStep.objects.get_or_create(
        request=request, kind=kind, defaults={**actor, **values}
    )
    return is_new

"""Figures: sums over logs, updated by a sweep. Lists and the overview never scan events."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.models.event import WordsOf

NAME_LENGTH = 128
CAUSE_LENGTH = 300
AGENT, TOOL, OUTCOME = "agent", "tool", "outcome"
MAX_LABELS = 200


def label(kind: str, name: str) -> str:
    """Return a label, such as `tool:refund`."""
    return f"{kind}:{name}"


def names_of(kind: str, labels: list[str]) -> list[str]:
    return [name.removeprefix(f"{kind}:") for name in labels if name.startswith(f"{kind}:")]


class DayMetric(models.TextChoices):
    """Kinds of amounts of a day. The docstring of each says what `name` and `detail` of `DayFigure` are."""

    PEOPLE = "people"
    """Users who wrote, in all apps together."""
    INVOCATIONS = "invocations"
    """By status."""
    FIRST_WORD = "first_word"
    """Invocations by the bucket of the time until their first text: see `bucket_of`."""
    CALLS = "calls"
    """Answered calls by tool."""
    FAILURES = "failures"
    """Failed calls by tool; errors without a tool have no name."""
    REJECTIONS = "rejections"
    """Calls by tool that a person rejected."""
    TOKENS = "tokens"
    """By agent and model."""
    COST = "cost"
    """By agent and model."""


class SessionFigures(models.Model):
    """Sums over the log of a session up to the event `seq`. Rewound events count, too: they were paid for.

    Attributes:
        errors: failed calls and events with an error.
        seconds: runtime of the invocations.
        labels: properties for the filters of lists, such as `tool:refund`: see `label`.
        outcomes: numbers of invocations by day and status, as counted in `DayFigure`.
        began_at: time of the first event of the newest invocation.
        has_word: True from the first text of the newest invocation on.
        is_settled: False while an invocation runs or events are not counted yet; the next sweep counts again.
        words_seq: number of the last event whose words are in `EventWords`.
        flaw_seq: number of the event at which the last check of the log found a flaw; None without a flaw.
    """

    session = models.OneToOneField(
        "sessions_app.Session", on_delete=models.CASCADE, primary_key=True, related_name="figures"
    )
    seq = models.BigIntegerField(default=0)
    words_seq = models.BigIntegerField(default=0, db_default=0)
    tokens = models.BigIntegerField(default=0)
    cost = models.FloatField(default=0.0)
    errors = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0.0)
    labels = ArrayField(models.TextField(), default=list)
    outcomes = models.JSONField(default=dict)
    invocation_id = models.TextField(default="")
    began_at = models.DateTimeField(null=True)
    # True: without an invocation there is no first word to wait for.
    has_word = models.BooleanField(default=True)
    is_settled = models.BooleanField(default=False)
    counted_at = models.DateTimeField(db_default=Now())
    flaw_seq = models.BigIntegerField(null=True)

    class Meta:
        default_permissions = ()
        indexes = [
            GinIndex(fields=["labels"], name="session_figures_labels"),
            models.Index(fields=["-cost", "-session"], name="session_figures_by_cost"),
            models.Index(fields=["-tokens", "-session"], name="session_figures_by_tokens"),
            # For the filter "With errors", and partial because most sessions have none.
            models.Index(fields=["session"], name="session_figures_errors", condition=Q(errors__gt=0)),
            models.Index(
                fields=["session"], name="session_figures_flaws", condition=Q(flaw_seq__isnull=False)
            ),
            models.Index(
                fields=["counted_at"], name="session_figures_unsettled", condition=Q(is_settled=False)
            ),
        ]

    def __str__(self) -> str:
        return f"figures of {self.session_id}"


class DayFigure(models.Model):
    """An amount of a day in the site's time zone. The row names no user and is kept when sessions are erased."""

    day = models.DateField()
    app_name = models.CharField(max_length=NAME_LENGTH)
    metric = models.CharField(max_length=16, choices=DayMetric.choices)
    name = models.CharField(max_length=NAME_LENGTH, default="")
    detail = models.CharField(max_length=NAME_LENGTH, default="")
    amount = models.FloatField(default=0.0)

    class Meta:
        verbose_name = "figure of a day"
        verbose_name_plural = "overview"
        default_permissions = ("view",)
        constraints = [
            # The day comes first: the overview reads ranges of days, and the sweep adds to rows by all five columns.
            models.UniqueConstraint(
                fields=["day", "metric", "app_name", "name", "detail"], name="day_figure_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.metric} {self.name}"


class ActiveDay(models.Model):
    """A day with a message of a user. Each user is counted once a day."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["day", "user"], name="active_day_unique")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.day}"


class Failure(models.Model):
    """An event with an error of a tool, a model or the runtime.

    Attributes:
        seq: number of the event in its session.
        tool_name: place of the node for an error in a workflow; empty for another error without a tool.
        cause: exception of the tool and innermost place in the agent's code; without these, the text of the error
            without numbers and quotations. The same for similar errors.
    """

    session = models.ForeignKey("sessions_app.Session", on_delete=models.CASCADE, related_name="failures")
    seq = models.BigIntegerField()
    day = models.DateField()
    tool_name = models.CharField(max_length=NAME_LENGTH)
    cause = models.CharField(max_length=CAUSE_LENGTH)

    class Meta:
        default_permissions = ("view",)
        permissions = (("resolve_failure", "Can assign and resolve causes of failures"),)
        indexes = [
            models.Index(fields=["-day", "-id"], name="failure_by_day"),
            models.Index(fields=["tool_name", "cause", "-day", "-id"], name="failure_of_tool"),
            GinIndex(WordsOf("cause"), name="failure_parts"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.cause}"


class FailureCause(models.Model):
    """The member of staff who takes care of the failures with a cause, and when they were resolved.

    Attributes:
        key: digest of tool and cause. The cause itself may quote a conversation, and is erased with it.
        resolved_on: day of the last resolution; null while unresolved. Failures of later days open the cause again.
    """

    key = models.CharField(max_length=64, unique=True)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    resolved_on = models.DateField(null=True)

    class Meta:
        """The rows are shown and changed on the pages of failures."""

        default_permissions = ()

    def __str__(self) -> str:
        return self.key


class FiguresProgress(models.Model):
    """Progress of the sweep through the sessions, in order of their last use. The table has one row.

    Attributes:
        newest: sweeps read the sessions used since this time.
        oldest: sessions last used before this time are still to be counted; null when all are counted.
        words_newest: copy of `newest`. It differs after a batch by a version of the site that stored no words.
    """

    newest = models.DateTimeField()
    oldest = models.DateTimeField(null=True)
    words_newest = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.newest} {self.oldest}"

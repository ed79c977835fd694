"""CaseFile: sessions and events that staff collect as evidence, with notes and a second reader.

Rows are only inserted. The seal is the last row of a case file: a trigger of the database refuses whatever would follow
(`migrations/cases.sql`).
"""

from typing import Any, Self
from uuid import uuid4

from django.db import models
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.db.models.signals import post_delete
from django.dispatch import receiver

from sessions_app.models.actor_columns import ActorColumns
from sessions_app.models.session import Session
from sessions_app.models.stored_files import delete_after_commit

TITLE_LENGTH = 200
MAX_NOTE_LENGTH = 10_000


class EntryKind(models.TextChoices):
    """Kinds of entries. `READ` and `AGREED` are those of a second reader."""

    NOTE = "note"
    READ = "read"
    AGREED = "agreed"
    SEAL = "seal"


class CaseFileQuerySet(models.QuerySet["CaseFile"]):
    """Case files with what has happened to them."""

    def with_stage(self) -> Self:
        """Annotate with `sealed_at`, None before the seal, and `is_read`: True if nothing was added since
        somebody has read it who has added nothing.
        """
        entries = CaseEntry.objects.filter(case=OuterRef("pk"))
        readings = entries.filter(kind__in=(EntryKind.READ, EntryKind.AGREED))
        # The authors are looked for here, too: an author may add a note and read at the same moment.
        voids = Q(at__gte=OuterRef("at")) | Q(actor_id=OuterRef("actor_id"))
        items = CaseItem.objects.filter(voids, case=OuterRef("case"))
        notes = CaseEntry.objects.filter(voids, case=OuterRef("case"), kind=EntryKind.NOTE)
        by_others = readings.exclude(actor_id=OuterRef("actor_id"))
        return self.annotate(
            sealed_at=Subquery(entries.filter(kind=EntryKind.SEAL).values("at")[:1]),
            is_read=Exists(by_others.filter(~Exists(items), ~Exists(notes))),
        )


class CaseFile(ActorColumns):
    """A case file. The actor has made it."""

    title = models.CharField(max_length=TITLE_LENGTH)
    at = models.DateTimeField("made at", db_default=Now())

    objects = CaseFileQuerySet.as_manager()

    class Meta:
        """`add_casefile` also adds items and notes, and reads as the second reader."""

        default_permissions = ("view", "add")
        permissions = [("seal_casefile", "Can seal case file")]

    def __str__(self) -> str:
        return self.title


class CaseItem(ActorColumns):
    """A session in a case file, or one event of it. Without a foreign key, so it survives the erasure of the session.

    Attributes:
        seq: number of the event; 0 for the whole session.
    """

    case = models.ForeignKey(CaseFile, on_delete=models.PROTECT, related_name="items")
    session_id = models.UUIDField(db_index=True)
    seq = models.BigIntegerField(default=0, db_default=0)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        """A case file has a session or an event once."""

        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["case", "session_id", "seq"], name="case_item_once")]

    def __str__(self) -> str:
        return f"{self.session_id} #{self.seq}" if self.seq else str(self.session_id)


def bundle_path(entry: "CaseEntry", filename: str) -> str:
    """Return the path of a new bundle in the storage."""
    return f"cases/{uuid4().hex}.zip"


class CaseEntry(ActorColumns):
    """A note, a reading or the seal of a case file.

    Attributes:
        text: the note, the comment of a reader, or the reason of the seal.
        sha256: of the manifest in the bundle; empty except for the seal.
        bundle: the sealed file. It is deleted when one of its sessions is erased.
    """

    case = models.ForeignKey(CaseFile, on_delete=models.PROTECT, related_name="entries")
    kind = models.CharField(max_length=16, choices=EntryKind.choices)
    text = models.TextField(max_length=MAX_NOTE_LENGTH, blank=True)
    sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")
    bundle = models.FileField(upload_to=bundle_path, max_length=255, blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        """A case file is sealed once."""

        default_permissions = ()
        verbose_name_plural = "case entries"
        constraints = [
            models.UniqueConstraint(
                fields=["case"], condition=models.Q(kind="seal"), name="case_file_sealed_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of case file {self.case_id}"


def seals_of(*, session_ids: Any) -> models.QuerySet[CaseEntry]:
    """Return the seals of the case files that have one of the sessions: their bundles are deleted with it."""
    cases = CaseItem.objects.filter(session_id__in=session_ids).values("case")
    return CaseEntry.objects.filter(kind=EntryKind.SEAL, case__in=cases)


@receiver(post_delete, sender=Session)
def delete_bundles(instance: Session, using: str, **kwargs: Any) -> None:
    """Delete the bundles that have the erased session, after the commit. Their seals stay, with the SHA-256."""
    for seal in seals_of(session_ids=[instance.pk]):
        delete_after_commit(seal.bundle, using)

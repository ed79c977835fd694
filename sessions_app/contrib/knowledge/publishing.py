"""Publishing: a version whose passages all have their vectors takes the place of the one before, in one transaction.

A search reads in one snapshot, so it sees all of the one or all of the other.
"""

from django.db import transaction
from django.db.models.functions import Now

from sessions_app.models import KnowledgeDocument, KnowledgePassage, KnowledgeVersion, VersionStatus
from sessions_app.store.embedded_tables import KNOWLEDGE
from sessions_app.store.embedding import waiting_rows


def publish(version: KnowledgeVersion) -> bool:
    """Make the version current if all its passages have vectors. Idempotent; return False if it is not ready.

    Passages of earlier versions are deleted. If a newer version is current, those of this version are.
    """
    if waiting_rows(KNOWLEDGE).filter(version=version).exists():
        return False
    with transaction.atomic():
        # Versions of a document take turns.
        document = KnowledgeDocument.objects.select_for_update().filter(pk=version.document_id).first()
        versions = KnowledgeVersion.objects.filter(document=version.document_id)
        ready = versions.filter(pk=version.pk, status=VersionStatus.EMBEDDING)
        if document is None or not ready.exists():
            return False
        if versions.filter(status=VersionStatus.CURRENT, number__gt=version.number).exists():
            old = ready
        else:
            old = versions.filter(status=VersionStatus.CURRENT)
        replaced = list(old.values_list("pk", flat=True))
        versions.filter(pk__in=replaced).update(status=VersionStatus.REPLACED, finished_at=Now())
        ready.update(status=VersionStatus.CURRENT, finished_at=Now())
        KnowledgePassage.objects.filter(version__in=replaced).delete()
    return True

"""The handbook of the demo's shop: a knowledge base that the help desk looks up and the demo's person owns."""

from pathlib import Path

from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction

from sessions_app.contrib.knowledge.documents import upload_file
from sessions_app.models import KnowledgeBase

BASE = "handbook"
FILE = Path(__file__).with_name("handbook.md")


@transaction.atomic
def ensure_handbook(person: User) -> None:
    """Make the base with its document, unless it exists."""
    if KnowledgeBase.objects.filter(name=BASE).exists():
        return
    owners, _ = Group.objects.get_or_create(name="Handbook")
    person.groups.add(owners)
    base = KnowledgeBase.objects.create(name=BASE, owners=owners)
    upload_file(base, SimpleUploadedFile(FILE.name, FILE.read_bytes()), person.pk)

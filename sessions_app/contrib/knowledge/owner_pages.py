"""Pages on which the owners of knowledge bases upload, replace and delete documents, outside of the admin.

The owners of a base are the people of a group. Staff make bases, and choose who owns and who reads them.
"""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.base import actors
from sessions_app.base.actors import Act, ActionKind
from sessions_app.base.client_address import client_address
from sessions_app.conf import conf
from sessions_app.contrib.knowledge.documents import delete_with_versions, passages_of, upload_file
from sessions_app.contrib.knowledge.read_file import READERS
from sessions_app.errors import FilesUnavailableError, InvalidInputError, TooLargeError
from sessions_app.models import (
    AccountAct,
    KnowledgeBase,
    KnowledgeDocument,
    KnowledgeVersion,
    VersionStatus,
)
from sessions_app.rendering.sentences import in_language

SECTION = "knowledge"
DOCUMENTS_ON_PAGE = 20
SHOWN_VERSIONS = 3
WORDS_OF_STATUS = {
    VersionStatus.QUEUED: gettext_noop("waits to be read"),
    VersionStatus.READING: gettext_noop("is being read"),
    VersionStatus.EMBEDDING: gettext_noop("%(done)s of %(all)s passages are ready"),
    VersionStatus.CURRENT: gettext_noop("in use"),
    VersionStatus.REPLACED: gettext_noop("replaced"),
    VersionStatus.FAILED: gettext_noop("could not be read"),
}
REASONS = (
    gettext_noop("The file is no text."),
    gettext_noop("The file unpacks to more than {0} MB."),
    gettext_noop("The PDF needs a password."),
    gettext_noop("The file has more than {0} characters or {1} sections. Split it."),
    gettext_noop("Reading the file needs too much memory."),
    gettext_noop("The file is damaged, or it is no {0} file."),
    gettext_noop("The file has no text. Pages that are pictures need OCR first."),
    gettext_noop("Reading the file takes too long or too much memory."),
    gettext_noop(
        "The storage of the site does not have this file: somebody has deleted it there. Upload it again."
    ),
    gettext_noop("The stored file is not the one that was uploaded. Upload it again."),
    gettext_noop("This server cannot isolate the process that reads files: see docs/knowledge.md."),
    gettext_noop("The file has more than {0} passages. Split it."),
)
"""Errors of versions by `read_file` and `reading`, listed here for the catalogues."""


@dataclass(frozen=True)
class ShownVersion:
    """A version as the page shows it.

    Attributes:
        is_open: True while a worker has to do something with it.
    """

    version: KnowledgeVersion
    words: str
    reason: str
    is_open: bool


@require_GET
@login_required
def bases_page(request: HttpRequest) -> HttpResponse:
    """Show the bases that the user owns."""
    bases = KnowledgeBase.objects.owned_by(request.user).select_related("people").order_by("name")
    context = {"person": request.user, "bases": bases.annotate(count=Count("documents"))}
    return render(request, "chat/knowledge.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def base_page(request: HttpRequest, base_id: int) -> HttpResponse:
    """Show the documents of a base that the user owns, or store an upload (POST).

    With `document` the upload is the next version of that document, whatever the name of the file is.
    """
    base = _owned_base(request.user, base_id)
    if request.method == "POST":
        return _upload(request, base)
    newest = KnowledgeVersion.objects.order_by("-number").select_related("uploaded_by")[:SHOWN_VERSIONS]
    documents = base.documents.order_by("-pk").prefetch_related(
        Prefetch("versions", newest, to_attr="newest")
    )
    page: Page[Any] = Paginator(documents, DOCUMENTS_ON_PAGE).get_page(request.GET.get("page"))
    shown = []
    for document in page:
        shown.append((document, [_shown(version) for version in document.newest]))
    context = {
        "person": request.user,
        "base": base,
        "page": page,
        "documents": shown,
        "kinds": ",".join(READERS),
        "max_bytes": conf().upload_bytes,
    }
    return render(request, "chat/knowledge_base.html", context)


@require_POST
@login_required
def delete_document(request: HttpRequest, base_id: int, document_id: int) -> HttpResponse:
    """Delete a document with its files. Idempotent: another owner may have done it."""
    base = _owned_base(request.user, base_id)
    with transaction.atomic():
        document = base.documents.filter(pk=document_id).first()
        if document is not None and delete_with_versions(document):
            _record(request, ActionKind.DELETE, document_id)
    return _back(request, base, gettext("The document is deleted."))


def _owned_base(user: Any, base_id: int) -> KnowledgeBase:
    return get_object_or_404(KnowledgeBase.objects.owned_by(user).select_related("people"), pk=base_id)


def _upload(request: HttpRequest, base: KnowledgeBase) -> HttpResponse:
    upload = request.FILES.get("file")
    if upload is None:
        return _back(request, base, gettext("Choose a file."), messages.ERROR)
    number = request.POST.get("document", "")
    try:
        with transaction.atomic():
            if number:
                upload.name = _name_of_next(base, number, upload)
            version = upload_file(base, upload, request.user.pk)
            _record(request, ActionKind.ADD, version.document_id)
    except (InvalidInputError, TooLargeError, FilesUnavailableError) as error:
        return _back(request, base, in_language(str(error)), messages.ERROR)
    return _back(request, base, gettext("The file is uploaded. Agents find it as soon as it is read."))


def _name_of_next(base: KnowledgeBase, number: str, upload: "UploadedFile[Any]") -> str:
    """Return the name of the document of which the upload is to be the next version.

    Raises:
        InvalidInputError: the document was deleted, or is of another kind than the file.
    """
    document = None
    if number.isdecimal() and len(number) < 19:
        document = base.documents.filter(pk=number).first()
    if document is None:
        raise InvalidInputError("This document was deleted meanwhile. Upload the file as a new one.")
    kind = PurePath(document.name).suffix.lower()
    if PurePath(upload.name or "").suffix.lower() != kind:
        raise InvalidInputError(f"Choose a file of the same kind: its name must end with {kind}.")
    return document.name


def _record(request: HttpRequest, action: ActionKind, document_pk: Any) -> None:
    by = actors.person(request.user, client_address(request))
    act = Act(by, action, (KnowledgeDocument._meta.model_name or "", str(document_pk)))
    AccountAct.objects.record(request.user.pk, act)


def _shown(version: KnowledgeVersion) -> ShownVersion:
    status = VersionStatus(version.status)
    words = gettext(WORDS_OF_STATUS[status])
    if status == VersionStatus.EMBEDDING:
        done, total = passages_of(version)
        words %= {"done": done, "all": total}
    is_open = status in (VersionStatus.QUEUED, VersionStatus.READING, VersionStatus.EMBEDDING)
    return ShownVersion(version, words, in_language(version.error), is_open)


def _back(
    request: HttpRequest, base: KnowledgeBase, sentence: str, level: int = messages.SUCCESS
) -> HttpResponse:
    """Redirect to the page of the base, which then shows the sentence."""
    # A project may have no messages.
    messages.add_message(request, level, sentence, extra_tags=SECTION, fail_silently=True)
    return redirect("chat:knowledge_base", base.pk)

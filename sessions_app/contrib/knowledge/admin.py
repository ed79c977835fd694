"""Admin of knowledge: bases, their documents, and what agents searched for.

Staff whose remits cover all people of an app manage the bases of the app; bases of all apps need a remit of all apps.
What agents searched for is text of conversations.
"""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import AppFilter, ValueFilter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import (
    REMIT_OF_APP,
    RemitPaths,
    has_whole_app,
    may,
    within_remits,
)
from sessions_app.admin.framework.staff_records import RecordedActsMixin
from sessions_app.contrib.knowledge.documents import (
    check_file,
    delete_base,
    delete_with_versions,
    passages_of,
    upload_file,
)
from sessions_app.errors import FilesUnavailableError, InvalidInputError, TooLargeError
from sessions_app.models import (
    Event,
    Feedback,
    KnowledgeBase,
    KnowledgeDocument,
    KnowledgePassage,
    KnowledgeSearch,
    KnowledgeVersion,
    Rating,
    VersionStatus,
)
from sessions_app.rendering.audit_values import excerpt, status_badge

OF_BASE = RemitPaths("base__app_name", "")
MAX_SHOWN = 20


def progress_of(version: KnowledgeVersion) -> str:
    """Return in words how far the version is."""
    if version.status == VersionStatus.FAILED:
        return version.error
    if version.status != VersionStatus.EMBEDDING:
        return ""
    done, total = passages_of(version)
    return f"{done} of {total} passages have vectors"


@admin.register(KnowledgeBase)
class KnowledgeBaseAdmin(RecordedActsMixin):
    list_display = ("name", "apps", "readers", "owners")
    list_select_related = ("people", "owners")
    ordering = ("name",)
    fields = ("name", "description", "app_name", "people", "owners")

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeBase]:
        return within_remits(request, super().get_queryset(request), REMIT_OF_APP)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_covered = obj is None or has_whole_app(request, obj.app_name)
        return is_covered and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_covered = obj is None or has_whole_app(request, obj.app_name)
        return is_covered and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: KnowledgeBase, form: Any, change: bool) -> None:
        """Store the base.

        Raises:
            PermissionDenied: the remits of the user do not cover its app.
        """
        if not has_whole_app(request, obj.app_name):
            raise PermissionDenied
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: KnowledgeBase) -> None:
        delete_base(obj)

    @admin.display(description="Apps", ordering="app_name")
    def apps(self, base: KnowledgeBase) -> str:
        return base.app_name or "all"

    @admin.display(description="Readers", ordering="people")
    def readers(self, base: KnowledgeBase) -> str:
        return str(base.people or "everybody")


class UploadForm(forms.ModelForm):  # type: ignore[type-arg]
    """A base and a file for it."""

    file = forms.FileField(
        help_text="The next version of the document with this name, or a new document. "
        "PDF, DOCX, HTML, Markdown, text or CSV."
    )

    class Meta:
        """The name of the document is that of the file."""

        model = KnowledgeDocument
        fields = ("base",)

    def clean_file(self) -> "UploadedFile[Any]":
        """Refuse a file that cannot be read.

        Raises:
            ValidationError: the file is refused.
        """
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        try:
            check_file(upload)
        except (InvalidInputError, TooLargeError) as error:
            raise forms.ValidationError(str(error)) from error
        return upload


class BaseFilter(ValueFilter):
    """Filter of documents by base. Names of bases outside of the remits of the user are not shown."""

    title = "base"
    parameter_name = "base__name"

    def values(self, request: HttpRequest) -> Iterable[str]:
        bases = within_remits(request, KnowledgeBase.objects.order_by("name"), REMIT_OF_APP)
        return bases.values_list("name", flat=True)


@admin.register(KnowledgeDocument)
class KnowledgeDocumentAdmin(RecordedActsMixin, KeysetAdmin):
    """Documents, newest first. Staff with the permissions upload and delete them; an upload can be a new version."""

    form = UploadForm
    remit_paths = (OF_BASE,)
    list_display = ("name", "base", "newest", "progress", "use_count")
    list_filter = (BaseFilter,)
    list_select_related = ("base",)
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeDocument]:
        versions = KnowledgeVersion.objects.order_by("-number").select_related("uploaded_by")
        return super().get_queryset(request).prefetch_related(Prefetch("versions", versions))

    def complete_rows(self, request: HttpRequest, rows: list[Any], query: str) -> None:
        """Count the uses of the documents of a page, in one query."""
        counted = KnowledgeDocument.objects.filter(pk__in=[row.pk for row in rows])
        counts = dict(counted.annotate(count=Count("uses")).values_list("pk", "count"))
        for row in rows:
            row.used = counts.get(row.pk, 0)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request, "sessions_app.add_knowledgedocument")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_covered = obj is None or has_whole_app(request, obj.base.app_name)
        return is_covered and may(request, "sessions_app.delete_knowledgedocument")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ("base", "file")
        return ("name", "base", "created_at", "versions", "passages", "most_used")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Accept only bases of apps within the remits of the user."""
        if db_field.name == "base":
            bases = KnowledgeBase.objects.order_by("name")
            covered = [base.pk for base in bases if has_whole_app(request, base.app_name)]
            kwargs["queryset"] = bases.filter(pk__in=covered)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return to the form if the storage of files does not answer."""
        try:
            return super().add_view(request, *args, **kwargs)
        except FilesUnavailableError as error:
            messages.error(request, str(error))
            return redirect(request.get_full_path())

    def save_model(self, request: HttpRequest, obj: KnowledgeDocument, form: Any, change: bool) -> None:
        """Store the file; the row that the form has made becomes the document with its name."""
        version = upload_file(obj.base, form.cleaned_data["file"], request.user.pk)
        obj.pk = version.document_id
        obj.name = version.document.name

    def delete_model(self, request: HttpRequest, obj: KnowledgeDocument) -> None:
        delete_with_versions(obj)

    @admin.display(description="Newest version")
    def newest(self, document: KnowledgeDocument) -> SafeString:
        version = document.versions.all()[0]
        return format_html("{} {}", f"v{version.number}", status_badge(version.status))

    @admin.display(description="Progress")
    def progress(self, document: KnowledgeDocument) -> str:
        return progress_of(document.versions.all()[0])

    @admin.display(description="Found")
    def use_count(self, document: Any) -> int:
        return int(document.used)

    @admin.display(description="Versions")
    def versions(self, document: KnowledgeDocument) -> SafeString:
        lines = [
            (
                version.number,
                status_badge(version.status),
                version.created_at.date().isoformat(),
                version.uploaded_by or "an account that was deleted",
                progress_of(version),
            )
            for version in document.versions.all()[:MAX_SHOWN]
        ]
        return format_html_join("", "<div>v{} {} {}, by {} {}</div>", lines)

    @admin.display(description="Passages")
    def passages(self, document: KnowledgeDocument) -> SafeString:
        """Show the beginning of what searches find, as it was read."""
        current = KnowledgePassage.objects.filter(
            version__document=document, version__status=VersionStatus.CURRENT
        )
        lines = [
            (passage.place or "—", excerpt(passage.text))
            for passage in current.order_by("position")[:MAX_SHOWN]
        ]
        shown = format_html_join("", "<div><bdi>{}</bdi><br>{}</div>", lines)
        return format_html("<div>{} of {}</div>{}", len(lines), current.count(), shown)

    @admin.display(description="Most found passages")
    def most_used(self, document: KnowledgeDocument) -> SafeString:
        places = document.uses.values_list("place").annotate(count=Count("pk")).order_by("-count", "place")
        return format_html_join(
            "", "<div>{}: <bdi>{}</bdi></div>", [(n, p or "—") for p, n in places[:MAX_SHOWN]]
        )


class OutcomeFilter(ValueFilter):
    """Filter of searches: those that found nothing, and those behind an answer with a bad rating."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("nothing", "Nothing found"), ("bad", "Answer rated badly")]

    def matching(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        if value == "nothing":
            return queryset.filter(found=0)
        answers = Event.objects.filter(
            session=OuterRef(OuterRef("session")), invocation_id=OuterRef(OuterRef("invocation_id"))
        )
        bad = Feedback.objects.filter(
            session=OuterRef("session"), rating=Rating.BAD, seq__in=answers.values("seq")
        )
        return queryset.filter(Exists(bad))


@admin.register(KnowledgeSearch)
class KnowledgeSearchAdmin(KeysetAdmin, SessionRowAdmin):
    """Searches by agents, newest first."""

    shows_text = True
    list_display = ("id", "short_query", "found", "bases", "of_session", "app", "agent_name", "at")
    list_filter = (OutcomeFilter, AppFilter, "at")
    ordering = ("-id",)
    search_fields = ("query",)
    fields = ("query", "bases", "found", "passages", "ratings", "of_session", "agent_name", "at")
    short_query = shown_column("query", "Query")

    @admin.display(description="Passages")
    def passages(self, search: KnowledgeSearch) -> SafeString:
        uses = search.uses.order_by("rank").select_related("passage", "document")
        lines = []
        for use in uses:
            text = excerpt(use.passage.text) if use.passage else "replaced"
            lines.append((use.document, use.version_number, use.place, text))
        return format_html_join("", "<div><bdi>{}</bdi> v{}, <bdi>{}</bdi><br>{}</div>", lines)

    @admin.display(description="Ratings of the answer")
    def ratings(self, search: KnowledgeSearch) -> SafeString:
        answers = Event.objects.filter(session=search.session_id, invocation_id=search.invocation_id)
        rated = Feedback.objects.filter(session=search.session_id, seq__in=answers.values("seq"))
        return format_html_join(
            " ", "{} <bdi>{}</bdi>", [(status_badge(row.rating), excerpt(row.comment)) for row in rated]
        )

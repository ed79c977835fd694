"""Admin of case files: the list, the page of a case file, and the seal.

    collect     a session, an event or several sessions are added to a new or an open case file
    note        notes are added, and never changed
    read        another than those who have added something reads it: the second reader
    seal        after the second reader, without a change since; the bundle is made and stays as it is

Staff with a remit see the case files whose sessions are all within it. Their own stay visible when a session is erased.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.files import File
from django.db import IntegrityError, transaction
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.case_files.forms import (
    MAX_EVENTS,
    MAX_FILE_BYTES,
    MAX_ITEMS,
    Chosen,
    CollectForm,
    NoteForm,
    ReadingForm,
    chosen_items,
)
from sessions_app.admin.framework.columns import exact_time
from sessions_app.admin.framework.confirmed_action import ReasonForm, Wording, confirmation_page
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import session_url
from sessions_app.admin.framework.permissions import Right, may, remits_of, require
from sessions_app.admin.framework.recorded_acts import actor_in_words
from sessions_app.admin.framework.staff_records import RecordedActsMixin, note_access, own_records, staff_of
from sessions_app.admin.records import links_to_rows
from sessions_app.asgi.downloads import stored_download
from sessions_app.data_protection.bundles.checking import is_as_sealed
from sessions_app.data_protection.bundles.writing import write_bundle
from sessions_app.errors import ConflictError, InvalidInputError
from sessions_app.models import (
    AccessKind,
    ActionKind,
    Artifact,
    CaseEntry,
    CaseFile,
    CaseItem,
    EntryKind,
    LegalHold,
    Session,
    StaffAccess,
    Tombstone,
)
from sessions_app.rendering.audit_values import status_badge
from sessions_app.secrets.masking import mask_text

SEALING = Wording(
    link=gettext_lazy("Seal…"), title=gettext_lazy("Seal the case file?"), confirm=gettext_lazy("Seal it")
)
MAX_CHECKED_BYTES = 20_000_000
"""Bytes of a bundle that is checked with each page of its case file, in less than a second."""
SEALED = gettext_lazy("This case file is sealed: nothing can be added.")
UNOPENED = gettext_lazy("Open each session and event first: those that you have still to open are marked.")


@admin.register(CaseFile)
class CaseFileAdmin(RecordedActsMixin, KeysetAdmin):
    """Case files, newest first. Titles and notes may quote conversations, so they need the right to read texts."""

    shows_text = True
    list_display = ("title", "stage", "actor_name", "at")
    ordering = ("-id",)
    search_fields = ("title",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[CaseFile]:
        cases = CaseFile.objects.with_stage().order_by("-id")
        if not remits_of(request):
            return cases
        items = CaseItem.objects.filter(case=OuterRef("pk"))
        seen = _session_admin().get_queryset(request).filter(pk=OuterRef("session_id"))
        exists = Exists(Session.objects.filter(pk=OuterRef("session_id")))
        outside = items.filter(~Exists(seen))
        own = own_records(request) & ~Exists(outside.filter(exists))
        # Of an erased session nobody knows whether it was within the remit.
        return cases.filter(own | Q(Exists(items)) & ~Exists(outside))

    def get_urls(self) -> list[URLPattern]:
        views = {
            "note": self.note_view,
            "read": self.read_view,
            "seal": self.seal_view,
            "bundle": self.bundle_view,
        }
        own = [self.view_path(f"<int:object_id>/{name}/", view, name) for name, view in views.items()]
        return [*own, *super().get_urls()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request, Right.ADD_TO_CASE) and self.has_view_permission(request)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Ask for a case file and add the chosen sessions and events.

        Raises:
            Http404: a session is outside of the remits of the user, or has no such event.
            PermissionDenied: the user may not add to case files, or not read the sessions.
        """
        self._require_adding(request)
        chosen = chosen_items(request.GET)
        sessions = _sessions_of(request, chosen)
        cases = self.get_queryset(request).exclude(entries__kind=EntryKind.SEAL)
        # Not `request.POST or None`: without a field chosen, the posted form is empty, and must say what is missing.
        form = CollectForm(request.POST if request.method == "POST" else None, cases)
        if form.is_valid() and self._collect(request, chosen, form):
            return HttpResponseRedirect(self.url_of("change", form.cleaned_data["case"].pk))
        items = [(session_url(item.session_id), sessions[item.session_id], item.seq) for item in chosen]
        title = gettext_lazy("Add to a case file")
        return self.show(request, "admin/sessions_app/casefile/collect.html", title, form=form, items=items)

    def _collect(self, request: HttpRequest, chosen: list[Chosen], form: CollectForm) -> bool:
        """Add all to the case file of the form, a new one if it has only a title; return False if nothing was added."""
        given = form.cleaned_data
        actor = staff_of(request).columns()
        try:
            with transaction.atomic():
                case = given["case"]
                if case is None:
                    case = CaseFile.objects.create(**actor, title=given["title"])
                    self.log_act(request, ActionKind.ADD, case, "", "(case)")
                for item in chosen:
                    self._add_item(request, case, item)
                if why_not := _why_too_large(case):
                    raise ConflictError(why_not)
                if given["note"]:
                    self._add_entry(request, case, EntryKind.NOTE, given["note"])
        except IntegrityError:  # sealed since the form was made
            form.add_error(None, str(SEALED))
            return False
        except ConflictError as error:
            form.add_error(None, str(error))
            return False
        given["case"] = case
        return True

    def _add_item(self, request: HttpRequest, case: CaseFile, item: Chosen) -> None:
        _row, is_new = CaseItem.objects.get_or_create(
            case=case, session_id=item.session_id, seq=item.seq, defaults=staff_of(request).columns()
        )
        if is_new:
            self.log_act(request, ActionKind.ADD, case, "", f"(session {item.text})")

    def _add_entry(self, request: HttpRequest, case: CaseFile, kind: EntryKind, text: str) -> None:
        CaseEntry.objects.create(**staff_of(request).columns(), case=case, kind=kind, text=text)
        action = ActionKind.READ
        if kind == EntryKind.NOTE:
            action = ActionKind.ADD
        self.log_act(request, action, case, "", f"({kind})")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        self.require_reading(request)
        return self._page(request, self.get_row(request, unquote(object_id)))

    def _page(self, request: HttpRequest, case: Any, **forms: Any) -> HttpResponse:
        note_access(request, AccessKind.OPEN, ("casefile", case.pk))
        entries = list(case.entries.order_by("pk"))
        may_add = self.has_add_permission(request) and not case.sealed_at
        may_read = may_add and not _why_not_second_reader(request, case, entries)
        note_form = None
        if may_add:
            note_form = forms.get("note_form", NoteForm())
        reading_form = None
        unopened: set[int] = set()
        if may_read:
            reading_form = forms.get("reading_form", ReadingForm(prefix="reading"))
            unopened = _unopened_items(request, case)
        items = _items_in_words(request, case, unopened)
        seal = next((entry for entry in entries if entry.kind == EntryKind.SEAL), None)
        bundle = ""
        if seal:
            bundle = _bundle_state(seal, is_asked="check" in request.GET)
        return self.show(
            request,
            "admin/sessions_app/casefile/page.html",
            case.title,
            case=case,
            stage=self.stage(case),
            maker=actor_in_words(case),
            items=items,
            has_erased=any(item["is_erased"] for item in items),
            entries=[(entry, actor_in_words(entry), exact_time(entry.at)) for entry in entries],
            seal=seal,
            bundle=bundle,
            note_form=note_form,
            reading_form=reading_form,
            unopened=UNOPENED if unopened else "",
            may_seal=may(request, Right.SEAL_CASE) and may(request, Right.EXPORT),
        )

    def note_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Add a note."""
        return self._add(request, object_id, NoteForm(request.POST), "note_form")

    def read_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Record that the user has read the case file as its second reader."""
        return self._add(request, object_id, ReadingForm(request.POST, prefix="reading"), "reading_form")

    def _add(
        self, request: HttpRequest, object_id: int, form: NoteForm | ReadingForm, name: str
    ) -> HttpResponse:
        """Add the note or the reading of a posted form.

        Raises:
            Http404: there is no such case file within the remits of the user.
            PermissionDenied: the user may not add to it.
        """
        self._require_adding(request)
        case = self.get_row(request, str(object_id))
        page = HttpResponseRedirect(self.url_of("change", object_id))
        if request.method != "POST":
            return page
        why_not = ""
        if case.sealed_at:
            why_not = str(SEALED)
        elif isinstance(form, ReadingForm):
            why_not = _why_not_second_reader(request, case, list(case.entries.all()))
        if why_not:
            messages.warning(request, why_not)
            return page
        if not form.is_valid():
            return self._page(request, case, **{name: form})
        if isinstance(form, ReadingForm) and _unopened_items(request, case):
            messages.warning(request, str(UNOPENED))
            return page
        # Only the form of a reading asks for the kind.
        kind = EntryKind(form.cleaned_data.get("kind", EntryKind.NOTE))
        try:
            with transaction.atomic():
                self._add_entry(request, case, kind, form.cleaned_data["note"])
        except IntegrityError:
            messages.warning(request, str(SEALED))
        return page

    def seal_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Ask for a reason, then make the bundle and seal the case file.

        Raises:
            Http404: there is no such case file within the remits of the user.
            PermissionDenied: the user may not seal it, or not export the sessions.
        """
        require(request, Right.SEAL_CASE, Right.EXPORT)
        self._require_reading_sessions(request)
        case = self.get_row(request, str(object_id))
        page = self.url_of("change", object_id)
        if why_not := _why_not_seal(case):
            messages.warning(request, why_not)
            return HttpResponseRedirect(page)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            self._seal(request, case, form.cleaned_data["reason"])
            return HttpResponseRedirect(page)
        words = _(
            "Its sessions and events become one file with their hashes. Nothing can be added afterwards."
        )
        return confirmation_page(
            self,
            request,
            SEALING,
            form,
            row=case,
            description=words,
            return_url=page,
        )

    def _seal(self, request: HttpRequest, case: CaseFile, reason: str) -> None:
        seal = CaseEntry(**staff_of(request).columns(), case=case, kind=EntryKind.SEAL, text=reason)
        with transaction.atomic():
            contents = _lock_contents(case)
        with TemporaryDirectory() as folder:
            target = Path(folder) / "case.zip"
            try:
                seal.sha256 = write_bundle(case, request.user, target)
            except (ConflictError, InvalidInputError) as error:
                messages.error(request, str(error))
                return
            with target.open("rb") as file:
                seal.bundle.save("case.zip", File(file), save=False)
        try:
            with transaction.atomic():
                seal.save()
                # What the bundle has must be what is sealed. From here on nothing can be added, and the erasure of a
                # session finds the seal and deletes its bundle.
                cases: QuerySet[Any] = CaseFile.objects.with_stage()
                if _lock_contents(case) != contents or not cases.filter(pk=case.pk, is_read=True).exists():
                    raise IntegrityError
                for session_id in set(case.items.values_list("session_id", flat=True)):
                    detail = f"case file {case.pk}, SHA-256 {seal.sha256}"
                    note_access(request, AccessKind.EXPORT, ("session", session_id), detail, reason)
                self.log_act(request, ActionKind.SEAL, case, reason, f"({seal.sha256})")
        except IntegrityError:
            seal.bundle.delete(save=False)
            messages.warning(
                request, _("The case file has changed meanwhile. Look at it, and seal it again.")
            )
            return
        messages.success(request, _("The case file is sealed."))

    def bundle_view(self, request: HttpRequest, object_id: int) -> HttpResponseBase:
        """Return the bundle as a download. The name of a file that is not the sealed one begins with "altered-".

        Raises:
            Http404: the case file is outside of the remits of the user or not sealed, or a session of it was erased.
            PermissionDenied: the user may not export, or the request could write.
        """
        self.require_reading(request)
        require(request, Right.EXPORT)
        self._require_reading_sessions(request)
        case = self.get_row(request, str(object_id))
        seal = case.entries.filter(kind=EntryKind.SEAL).first()
        if seal is None or not seal.bundle.storage.exists(seal.bundle.name):
            raise Http404("There is no bundle of this case file, or it was deleted with a session.")
        note_access(request, AccessKind.DOWNLOAD, ("casefile", case.pk), f"SHA-256 {seal.sha256}")
        file = seal.bundle.open("rb")
        name = f"case-{case.pk}.zip"
        if not is_as_sealed(file, seal.sha256):
            name = f"altered-{name}"
        file.seek(0)
        return stored_download(name, file)

    def _require_adding(self, request: HttpRequest) -> None:
        require(request, Right.ADD_TO_CASE)
        if not self.has_add_permission(request):
            raise PermissionDenied
        self._require_reading_sessions(request)

    def _require_reading_sessions(self, request: HttpRequest) -> None:
        """Refuse staff who may not read case files and sessions.

        Raises:
            PermissionDenied: a permission is missing.
        """
        if not (self.has_view_permission(request) and _session_admin().has_view_permission(request)):
            raise PermissionDenied

    @admin.display(description=gettext_lazy("Stage"))
    def stage(self, case: Any) -> SafeString:
        if case.sealed_at:
            return status_badge("sealed")
        return status_badge("read" if case.is_read else "open")


def _session_admin() -> Any:
    return admin.site.get_model_admin(Session)


def _sessions_of(request: HttpRequest, chosen: list[Chosen]) -> dict[Any, Session]:
    """Return the sessions to add.

    Raises:
        Http404: an item is missing or outside of the remits, or has no such event.
    """
    sessions = _session_admin().get_queryset(request).in_bulk([item.session_id for item in chosen])
    for item in chosen:
        session = sessions.get(item.session_id)
        if session is None or item.seq > session.last_seq:
            raise Http404("There is no such session or event.")
    return sessions  # type: ignore[no-any-return]


def _lock_contents(case: CaseFile) -> tuple[int, int, set[UUID]]:
    """Return the numbers of items and of notes and readings, and the sessions that exist, which are locked."""
    items = case.items.values_list("session_id", flat=True)
    sessions = Session.objects.filter(pk__in=list(items)).order_by("pk").select_for_update(no_key=True)
    entries = case.entries.exclude(kind=EntryKind.SEAL)
    return items.count(), entries.count(), set(sessions.values_list("pk", flat=True))


def _bundle_state(seal: CaseEntry, *, is_asked: bool) -> str:
    """Return `as sealed`, `altered` or `missing`; `unchecked` for a large bundle, unless the user asks for a check."""
    if not seal.bundle.storage.exists(str(seal.bundle.name)):
        return "missing"
    if seal.bundle.size > MAX_CHECKED_BYTES and not is_asked:
        return "unchecked"
    with seal.bundle.open("rb") as file:
        return "as sealed" if is_as_sealed(file, seal.sha256) else "altered"


def _unopened_items(request: HttpRequest, case: CaseFile) -> set[int]:
    """Return the keys of the items whose session exists and was not opened by the user since the item was added."""
    opened = StaffAccess.objects.filter(
        own_records(request),
        kind=AccessKind.OPEN,
        subject_kind="session",
        subject_id=Cast(OuterRef("session_id"), CharField()),
        at__gte=OuterRef("at"),
    )
    present = case.items.filter(Exists(Session.objects.filter(pk=OuterRef("session_id"))))
    return set(present.filter(~Exists(opened)).values_list("pk", flat=True))


def _items_in_words(request: HttpRequest, case: CaseFile, unopened: set[int]) -> list[dict[str, Any]]:
    """Return link, hold and erasure of each item, and whether the user has still to open it."""
    items = list(case.items.order_by("pk"))
    keys = [item.session_id for item in items]
    links = links_to_rows(request, "session", map(str, keys))
    holds = LegalHold.objects.of_session(OuterRef("pk"), OuterRef("user_id"))
    present = dict(Session.objects.filter(pk__in=keys).values_list("pk", Exists(holds)))
    stones = Tombstone.objects.filter(erased_sessions__session_id__in=keys)
    erasures = dict(stones.values_list("erased_sessions__session_id", "pk"))
    stone_links = links_to_rows(request, "tombstone", map(str, erasures.values()))
    found = []
    for item in items:
        key = str(item.session_id)
        link = links.get(key, key)
        if item.seq and key in links:
            url = session_url(item.session_id, seq=item.seq)
            link = format_html('{} <a href="{}">#{}</a>', link, url, item.seq)
        found.append(
            {
                "link": link,
                "actor": actor_in_words(item),
                "at": exact_time(item.at),
                "is_held": present.get(item.session_id, False),
                "is_erased": item.session_id not in present,
                "is_unopened": item.pk in unopened,
                "tombstone": stone_links.get(str(erasures.get(item.session_id)), ""),
            }
        )
    return found


def _why_not_second_reader(request: HttpRequest, case: CaseFile, entries: list[CaseEntry]) -> str:
    """Return why the user cannot be the second reader; empty if the user can, after opening all items."""
    notes = [entry for entry in entries if entry.kind == EntryKind.NOTE]
    authors = {row.actor_id for row in (case, *case.items.all(), *notes)}
    if str(request.user.pk) in authors:
        return _("Another must read what you have collected.")
    return ""


def _why_not_seal(case: Any) -> str:
    """Return why the case file cannot be sealed; empty if it can."""
    if case.sealed_at:
        return str(SEALED)
    if not case.items.exists():
        return _("Nothing was collected yet.")
    if not case.is_read:
        return _("A second reader must read the case file as it is now.")
    return _why_too_large(case)


def _why_too_large(case: CaseFile) -> str:
    """Return why no bundle of the case file can be made within a request; empty if one can."""
    items = case.items.values_list("session_id", flat=True)
    if items.count() > MAX_ITEMS:
        return _("A case file has at most %d sessions and events.") % MAX_ITEMS
    sessions = Session.objects.filter(pk__in=list(items))
    if (sessions.aggregate(events=Sum("last_seq"))["events"] or 0) > MAX_EVENTS:
        return _("The sessions of a case file have at most %d events. Make several case files.") % MAX_EVENTS
    return _why_too_many_bytes(case)


def _why_too_many_bytes(case: CaseFile) -> str:
    """Return which file makes the bundle too large: files are of whole sessions; empty if none does."""
    whole = case.items.filter(seq=0).values("session_id")
    files = Artifact.objects.filter(session__in=whole)
    size = files.aggregate(size=Sum("size"))["size"] or 0
    if size <= MAX_FILE_BYTES:
        return ""
    largest = files.order_by("-size", "pk")[0]
    words = _(
        "The files of a case file have at most %(most)s together, and these have %(size)s. The largest is "
        "“%(name)s” of session %(session)s with %(bytes)s: collect events of this session in place of the session."
    )
    return words % {
        "most": filesizeformat(MAX_FILE_BYTES),
        "size": filesizeformat(size),
        "name": mask_text(largest.filename),
        "session": largest.session_id,
        "bytes": filesizeformat(largest.size),
    }

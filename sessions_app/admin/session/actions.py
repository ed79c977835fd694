"""Actions of staff on a whole session: export, unmasking and erasure, each with a reason."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.case_files.lost_bundles import lost_bundles
from sessions_app.admin.framework.confirmed_action import ReasonForm, Wording, Words, confirmation_page
from sessions_app.admin.framework.links import RowLinks, row_links, row_url, session_url
from sessions_app.admin.framework.permissions import Right, may, may_collect, require
from sessions_app.admin.framework.staff_records import note_access, staff_of
from sessions_app.admin.framework.unmasking import end_unmasking, grant_unmasking
from sessions_app.admin.second_person.consent import RIGHTS, Consent, SecondPersonMixin, load_consent
from sessions_app.asgi.downloads import as_download
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.data_protection.export import export_session
from sessions_app.data_protection.personal_data import as_text, count_rows_of_sessions
from sessions_app.data_protection.transcripts.pages import write_record
from sessions_app.errors import LegalHoldError, SecondPersonError
from sessions_app.models import AccessKind, ActionKind, GuardedAct, LegalHold, Session
from sessions_app.secrets.masking import is_unmasked

ARCHIVE, RECORD = "archive", "record"


class ExportForm(ReasonForm):
    """Form of the exported file, and the reason."""

    form = forms.ChoiceField(
        label=gettext_lazy("Form"),
        choices=[
            (ARCHIVE, gettext_lazy("Archive (zip), to import or hand over")),
            (RECORD, gettext_lazy("Page (HTML), to read and compare")),
        ],
    )
    field_order = ("form", "reason")


@dataclass(frozen=True)
class SessionAction:
    """An action on the page of a session."""

    name: str
    right: Right
    wording: Wording


EXPORT = SessionAction(
    "export",
    Right.EXPORT,
    Wording(gettext_lazy("Export…"), gettext_lazy("Export the session?"), gettext_lazy("Export it")),
)
UNMASK = SessionAction(
    GuardedAct.UNMASK,
    RIGHTS[GuardedAct.UNMASK],
    Wording(
        gettext_lazy("Unmask…"),
        gettext_lazy("See the masked values of the session?"),
        gettext_lazy("Show them"),
    ),
)
ERASE = SessionAction(
    GuardedAct.ERASE,
    RIGHTS[GuardedAct.ERASE],
    Wording(gettext_lazy("Erase…"), gettext_lazy("Erase the session for ever?"), gettext_lazy("Erase it")),
)
ACTIONS = (EXPORT, UNMASK, ERASE)
COLLECT = "admin:sessions_app_casefile_add"
"""Page that adds sessions to a case file."""
HOLD = "admin:sessions_app_legalhold_add"
"""Page that sets a legal hold."""


class SessionActionsMixin(SecondPersonMixin):
    """Admin of sessions with the actions. Subclasses implement `get_session`."""

    def get_session(self, request: HttpRequest, session_id: UUID | None) -> Session:
        """Return the session, if the user may read it.

        Raises:
            Http404: there is no such session within the remits of the user.
            PermissionDenied: the user may not read the session.
        """
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        views = {
            EXPORT.name: self.export_session_view,
            UNMASK.name: self.unmask_view,
            ERASE.name: self.erase_view,
            "mask": self.mask_view,
        }
        own = [self.view_path(f"<uuid:session_id>/{name}/", view, name) for name, view in views.items()]
        return [*own, *super().get_urls()]

    def action_links(self, request: HttpRequest, session: Session) -> list[tuple[str, Words]]:
        """Return URL and text of each action within the rights of the user."""
        offered = [action for action in ACTIONS if may(request, action.right)]
        if UNMASK in offered and is_unmasked():
            offered.remove(UNMASK)  # the page offers to mask the values again
        links: list[tuple[str, Words]] = [
            (row_url(session, action.name), action.wording.link) for action in offered
        ]
        if may(request, Right.SET_HOLD):
            links.append((f"{reverse(HOLD)}?session={session.pk}", gettext_lazy("Legal hold…")))
        if may_collect(request):
            links.append((f"{reverse(COLLECT)}?item={session.pk}", gettext_lazy("Add to a case file…")))
        return links

    def action_column(self, request: HttpRequest) -> RowLinks | None:
        """Return a column with links to export and erasure within the rights of the user; None without links."""
        if not may(request, Right.VIEW_TEXT):
            return None
        offered = [action for action in (EXPORT, ERASE) if may(request, action.right)]
        if not offered:
            return None
        return row_links([(action.name, action.wording.link) for action in offered])

    def export_session_view(self, request: HttpRequest, session_id: UUID) -> HttpResponseBase:
        """Ask for a form and a reason, then return the session as a file."""
        session = self._open(request, session_id, EXPORT)
        form = ExportForm(request.POST or None)
        if not form.is_valid():
            return self._ask(request, session, EXPORT.wording, form, _counts(request, session))
        chosen = form.cleaned_data["form"]
        reason = form.cleaned_data["reason"]
        with TemporaryDirectory() as folder:
            if chosen == ARCHIVE:
                target = Path(folder) / f"session-{session.pk}.zip"
                export_session(session.pk, target)
                detail = chosen
            else:
                target, sha256 = write_record(session, request.user, Path(folder))
                # With the hash in the access log, anybody can check later that a record is the file that was
                # exported.
                detail = f"{chosen}, SHA-256 {sha256}"
            # After the file is written, because the log has its hash, and before it is sent.
            note_access(request, AccessKind.EXPORT, ("session", session.pk), detail, reason)
            return as_download(target)

    def unmask_view(self, request: HttpRequest, session_id: UUID) -> HttpResponseBase:
        """Ask for a reason, then show the masked values of the session for `unmask_seconds`."""
        session = self._open(request, session_id, UNMASK)
        consent = load_consent(request, GuardedAct.UNMASK, session)
        if not consent.form.is_valid():
            return self._ask_with_consent(request, session, UNMASK.wording, consent, SafeString())
        if consent.asks:
            self.ask_second_person(request, consent)
            return HttpResponseRedirect(session_url(session.pk))
        self.use_consent(request, consent)
        note_access(request, AccessKind.UNMASK, ("session", session.pk), reason=consent.reason)
        grant_unmasking(request, session.pk)
        return HttpResponseRedirect(session_url(session.pk))

    def mask_view(self, request: HttpRequest, session_id: UUID) -> HttpResponseBase:
        """Mask the values of the session again."""
        # A GET could be caused by a link or a picture of another site.
        if request.method != "POST":
            raise PermissionDenied
        end_unmasking(request, self.get_session(request, session_id).pk)
        return HttpResponseRedirect(session_url(session_id))

    def erase_view(self, request: HttpRequest, session_id: UUID) -> HttpResponseBase:
        """Show the numbers of rows and ask for a reason, then erase the session, unless it is under legal hold."""
        session = self._open(request, session_id, ERASE)
        consent = load_consent(request, GuardedAct.ERASE, session)
        held = LegalHold.objects.of_session(session.pk, session.user_id).first()
        if held is None and consent.form.is_valid():
            if consent.asks:
                self.ask_second_person(request, consent)
                return HttpResponseRedirect(session_url(session.pk))
            order = ErasureOrder.of_staff(staff_of(request), consent.reason)
            try:
                tombstone = erase_session(session.pk, order)
            except SecondPersonError as error:  # The agreement was used after the check above.
                raise PermissionDenied from error
            except LegalHoldError as error:  # The hold was set after the check above.
                messages.error(request, str(error))
                return HttpResponseRedirect(session_url(session.pk))
            self.log_act(request, ActionKind.DELETE, session, tombstone.reason)
            erased = as_text(tombstone.counts)
            messages.success(request, _("Erased: %(counts)s. A tombstone is kept.") % {"counts": erased})
            return HttpResponseRedirect(self.url_of("changelist"))
        description = _counts(request, session)
        if held:
            note = _("Nothing may be erased: %(hold)s is in force.") % {"hold": held}
            description = format_html('{}<br><strong class="audit-bad">{}</strong>', description, note)
        return self._ask_with_consent(
            request, session, ERASE.wording, consent, description, is_held=held is not None
        )

    def may_do(self, request: HttpRequest, act: GuardedAct, session: Session) -> bool:
        """True if the user may do the act on a session within the remits."""
        may_open = self.has_view_permission(request) and may(request, Right.VIEW_TEXT)
        return may_open and may(request, RIGHTS[act])

    def _open(self, request: HttpRequest, session_id: UUID, action: SessionAction) -> Session:
        require(request, action.right)
        return self.get_session(request, session_id)

    def _ask_with_consent(
        self,
        request: HttpRequest,
        session: Session,
        wording: Wording,
        consent: Consent,
        description: SafeString,
        *,
        is_held: bool = False,
    ) -> HttpResponseBase:
        may_confirm = not (is_held or consent.waits)
        words = consent.wording(wording)
        note = consent.with_note(description)
        return self._ask(request, session, words, consent.form, note, may_confirm=may_confirm)

    def _ask(
        self,
        request: HttpRequest,
        session: Session,
        wording: Wording,
        form: forms.Form,
        description: SafeString,
        **options: bool,
    ) -> HttpResponseBase:
        url = session_url(session.pk)
        return confirmation_page(
            self, request, wording, form, row=session, description=description, return_url=url, **options
        )


def _counts(request: HttpRequest, session: Session) -> SafeString:
    counts = count_rows_of_sessions(Session.objects.filter(pk=session.pk))
    description = format_html("<bdi>{}</bdi>: {}", session, as_text(counts))
    if note := lost_bundles(request, [session.pk]):
        description = format_html("{}<br>{}", description, note)
    return description

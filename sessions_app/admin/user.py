"""Admin of users and groups.

Staff export the data of a person, and erase the data with the account unless a legal hold forbids it.
"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import DateTimeField, Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.agent_access import AgentAccessMixin
from sessions_app.admin.case_files.lost_bundles import lost_bundles
from sessions_app.admin.framework.confirmed_action import ReasonForm, Wording, confirmation_page
from sessions_app.admin.framework.links import row_links
from sessions_app.admin.framework.permissions import REMIT_OF_PERSON, Right, may, require, within_remits
from sessions_app.admin.framework.staff_records import RecordedActsMixin, note_access, staff_of
from sessions_app.admin.second_person.consent import Consent, SecondPersonMixin, load_consent
from sessions_app.asgi.downloads import as_download
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.data_protection.export import export_user
from sessions_app.data_protection.personal_data import as_text, count_rows_of_user
from sessions_app.errors import SecondPersonError
from sessions_app.models import AccessKind, GuardedAct, LegalHold, Session

USER_MODEL: type[Model] = get_user_model()
# A project may have its own admin of users: this admin extends it and takes its place.
BASE: Any = (
    type(admin.site.get_model_admin(USER_MODEL)) if admin.site.is_registered(USER_MODEL) else admin.ModelAdmin
)
SCRIPT = "sessions_app/admin/accounts.js"
EXPORT = Wording(
    link=_("Export…"),
    title=_("Export all data of the person?"),
    confirm=_("Export it"),
)
# The name of a secret before the colon would mask the number.
NAMES_OF_KINDS = {"credentials": "credentials that tools saved", "api_keys": "keys of the API"}


class LabelledDateTime(AdminSplitDateTime):
    """Django's inputs for date and time, which name no input: the words beside these are no labels."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        for part, label in zip(self.widgets, (_("Date"), _("Time")), strict=True):
            part.attrs["aria-label"] = label


class ErasingUserAdmin(AgentAccessMixin, SecondPersonMixin, BASE):  # type: ignore[misc]
    """The project's admin of users, with an export, and with a deletion of the account and all data of the person.

    A remit with an app covers no users, because an account belongs to no app.
    """

    formfield_overrides = {DateTimeField: {"widget": LabelledDateTime}, **BASE.formfield_overrides}
    remit_paths = (REMIT_OF_PERSON,)
    delete_confirmation_template = "admin/sessions_app/user/delete.html"

    class Media:
        js = [SCRIPT]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return within_remits(request, super().get_queryset(request), *self.remit_paths)

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("<id>/export/", self.export_view, "export"), *super().get_urls()]

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return the columns, with links to the export and the deletion of each person."""
        links = []
        if self._may_export(request):
            links.append(("export", EXPORT.link))
        if self.has_delete_permission(request):
            links.append(("delete", _("Delete…")))
        columns = list(super().get_list_display(request))
        if links:
            columns.insert(1, row_links(links))
        return tuple(columns)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions without Django's deletion of chosen rows."""
        # The deletion of chosen rows asks for no reason, and would erase many people at once.
        actions = super().get_actions(request)
        return {name: action for name, action in actions.items() if name != "delete_selected"}

    def export_view(self, request: HttpRequest, id: str) -> HttpResponseBase:
        """Show the numbers of rows and ask for a reason, then return the data of the person as a file."""
        require(request, Right.EXPORT, Right.VIEW_TEXT)
        if not self.has_view_permission(request):
            raise PermissionDenied
        person = self.get_row(request, id)
        form = ReasonForm(request.POST or None)
        if form.is_valid():
            # A file first: an error in the middle of a stream would leave staff with a broken archive.
            with TemporaryDirectory() as folder:
                target = Path(folder) / f"person-{person.pk}.zip"
                export_user(person.pk, target)
                reason = form.cleaned_data["reason"]
                note_access(request, AccessKind.EXPORT, ("user", person.pk), "archive", reason)
                return as_download(target)
        return confirmation_page(
            self,
            request,
            EXPORT,
            form,
            row=person,
            description=format_html("<bdi>{}</bdi>: {}", person, as_text(count_rows_of_user(person.pk))),
            return_url=self.url_of("changelist"),
        )

    def _may_export(self, request: HttpRequest) -> bool:
        # The archive has the texts of all conversations.
        may_read = may(request, Right.EXPORT) and may(request, Right.VIEW_TEXT)
        return may_read and bool(self.has_view_permission(request))

    def get_deleted_objects(
        self, objs: Iterable[Any], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Return the user, the numbers of rows, the missing permissions, and the legal holds against the deletion."""
        (user,) = objs
        # Django would list each row, of which a person may have very many, and ask for a permission to delete each
        # kind.
        counts = {"users": 1}
        for kind, number in count_rows_of_user(user.pk).items():
            if number:
                counts[NAMES_OF_KINDS.get(kind) or kind.replace("_", " ")] = number
        held = [str(hold) for hold in LegalHold.objects.of_user(user.pk)]
        missing = set() if self.has_delete_permission(request) else {str(self.opts.verbose_name)}
        return [str(user)], counts, missing, held

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the numbers of rows and ask for a reason, then erase the person."""
        person = self.get_object(request, unquote(object_id))
        require(request, Right.ERASE)
        if person is None or not self.has_delete_permission(request, person):
            return super().delete_view(request, object_id)  # which refuses
        consent = load_consent(request, GuardedAct.ERASE, person)
        if consent.asks and consent.form.is_valid() and not LegalHold.objects.of_user(person.pk).exists():
            self.ask_second_person(request, consent)
            return HttpResponseRedirect(self.url_of("changelist"))
        if consent.asks or not consent.form.is_valid():
            # No erasure without a valid reason, even with a forged form.
            request.POST = QueryDict()  # Without data Django shows the page again.
        request.adk_consent = consent  # type: ignore[attr-defined]
        sessions = Session.objects.filter(user=person.pk).values("pk")
        context = {
            "consent": consent,
            "confirm": consent.button(_("Delete and erase")),
            "lost_bundles": lost_bundles(request, sessions),
        }
        return super().delete_view(request, object_id, context | (extra_context or {}))

    def reason_for_deletion(self, request: HttpRequest) -> str:
        consent: Consent = request.adk_consent  # type: ignore[attr-defined]
        return consent.reason

    def may_do(self, request: HttpRequest, act: GuardedAct, person: Any) -> bool:
        """True if the user may erase a person within the remits."""
        return act == GuardedAct.ERASE and self.has_delete_permission(request, person)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return may(request, Right.ERASE) and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        order = ErasureOrder.of_staff(staff_of(request), self.reason_for_deletion(request))
        try:
            erase_user(obj.pk, order)
        except SecondPersonError as error:  # The agreement was used after the check of the form.
            raise PermissionDenied from error


class RecordedGroupAdmin(RecordedActsMixin, GroupAdmin):
    """Django's admin of groups, with records of changes: a group grants permissions."""

    class Media:
        js = [SCRIPT]


for model, model_admin in ((Group, RecordedGroupAdmin), (USER_MODEL, ErasingUserAdmin)):
    if admin.site.is_registered(model):  # Otherwise the project has no such admin, or registers it later.
        admin.site.unregister(model)
        admin.site.register(model, model_admin)

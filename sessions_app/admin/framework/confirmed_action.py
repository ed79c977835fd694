"""Admin with one action on a row. Staff confirm the action on a separate page, with a reason."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.guarded_views import GuardedAdmin
from sessions_app.admin.framework.staff_records import RecordedActsMixin, staff_of
from sessions_app.base.actors import Actor
from sessions_app.models import ActionKind

Words = str | Promise
GO_BACK = _("No, go back")


class ReasonForm(forms.Form):
    """Reason for an action."""

    reason = forms.CharField(
        max_length=500, widget=forms.Textarea(attrs={"rows": 3, "cols": 60}), label=_("Reason")
    )


@dataclass(frozen=True)
class Wording:
    """Texts of an action.

    Attributes:
        link: link on the row's page to the page for the confirmation.
        title: heading of the page for the confirmation.
        confirm: button to do the action.
        refrain: link back, without the action.
        done: message after the action; empty for an action that shows its own.
    """

    link: Words
    title: Words
    confirm: Words
    refrain: Words = GO_BACK
    done: Words = ""


def revoke_wording(title: Words, done: Words) -> Wording:
    """Return the texts of a revocation."""
    return Wording(
        link=_("Revoke…"), title=title, confirm=_("Revoke it"), refrain=_("No, keep it"), done=done
    )


def confirmation_page(
    admin: GuardedAdmin,
    request: HttpRequest,
    wording: Wording,
    form: forms.Form,
    *,
    row: Model,
    description: Words,
    return_url: str,
    may_confirm: bool = True,
) -> HttpResponse:
    """Return the page on which staff confirm an action on a row.

    Args:
        return_url: page behind the link back.
        may_confirm: False to show the description without form and button.
    """
    return admin.show(
        request,
        "admin/sessions_app/confirmed_action/confirm.html",
        wording.title,
        row=row,
        description=description,
        wording=wording,
        form=form,
        return_url=return_url,
        may_confirm=may_confirm,
    )


class ConfirmedActionAdmin(RecordedActsMixin):
    """Admin with an action for some of its rows.

    Attributes:
        action: kind of the recorded act, and last segment of the action's URL.
        reason_form: form with a field `reason`.
        takes_turns: True if `act` writes to the database only. Of two requests for a row at once, the second then finds
            why the action is no longer possible.
    """

    change_form_template = "admin/sessions_app/confirmed_action/change_form.html"
    action: ActionKind
    wording: Wording
    reason_form: ClassVar[type[forms.Form]] = ReasonForm
    takes_turns: ClassVar[bool] = False

    @abstractmethod
    def has_action_permission(self, request: HttpRequest) -> bool:
        """True if the user may see and do the action."""

    @abstractmethod
    def why_not(self, row: Any) -> str:
        """Return why the action is not possible for the row; empty if it is possible."""

    @abstractmethod
    def describe(self, row: Any) -> SafeString:
        """Return the row in words, for the page for the confirmation."""

    @abstractmethod
    def act(self, row: Any, by: Actor, reason: str) -> None:
        """Do the action."""

    def get_urls(self) -> list[URLPattern]:
        confirm = self.view_path(f"<str:object_id>/{self.action}/", self.confirm_view, self.action)
        return [confirm, *super().get_urls()]

    def action_url(self, request: HttpRequest, row: Any) -> str:
        """Return the URL of the page for the confirmation; empty if the action is not offered for the row."""
        # The page of the confirmation checks again: the row may have ended since.
        if row is None or not self.has_action_permission(request) or self.why_not(row):
            return ""
        return self.url_of(self.action, row.pk)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= {"action_url": self.action_url(request, context["original"]), "wording": self.wording}
        return super().render_change_form(request, context, *args, **kwargs)

    def confirm_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for a reason, do the action, and redirect to the page where staff clicked the link."""
        if not self.has_action_permission(request):
            raise PermissionDenied
        row = self.get_row(request, object_id)
        if not self.takes_turns:
            return self._confirm(request, row)
        with transaction.atomic():
            row.refresh_from_db(from_queryset=self.model._base_manager.select_for_update(no_key=True))
            return self._confirm(request, row)

    def _confirm(self, request: HttpRequest, row: Any) -> HttpResponse:
        return_url = self._return_url(request, str(row.pk))
        if reason_against := self.why_not(row):
            messages.warning(request, reason_against)
            return HttpResponseRedirect(return_url)
        form = self.reason_form(request.POST if request.method == "POST" else None)
        if form.is_valid():
            reason = form.cleaned_data["reason"]
            # Recorded first: an act without a record is worse than a record of an act that failed.
            self.log_act(request, self.action, row, reason)
            self.act(row, staff_of(request), reason)
            messages.success(request, str(self.wording.done))
            return HttpResponseRedirect(return_url)
        return confirmation_page(
            self, request, self.wording, form, row=row, description=self.describe(row), return_url=return_url
        )

    def _return_url(self, request: HttpRequest, object_id: str) -> str:
        """Return the page where staff clicked the link; the row's page for a missing or foreign URL."""
        referring_page = request.POST.get("next") or request.GET.get("next") or ""
        # The URL comes from the query string: a forged link must not redirect to another site.
        if url_has_allowed_host_and_scheme(referring_page, {request.get_host()}, request.is_secure()):
            return referring_page
        return self.url_of("change", object_id)

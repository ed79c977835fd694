"""Stop action of the audit admin: staff may stop invocations and jobs, with a permission of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.base import SessionRowAdmin
from sessions_app.models import Invocation, ToolJob

Stoppable = Invocation | ToolJob


class StopForm(forms.Form):
    """Optional reason for a stop."""

    reason = forms.CharField(
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        label=gettext_lazy("Reason (optional)"),
        help_text=gettext_lazy("Recorded for the audit. The user only reads that staff stopped it."),
    )


class StoppableAdmin(SessionRowAdmin):
    """Admin with a stop action for open rows. The row records who stopped it, when and why.

    A stop needs the permission `cancel_<model>` and a permission to view the row.

    Attributes:
        noun: Name of a row in messages, with its article, such as "The job".
    """

    change_form_template = "admin/sessions_app/stoppable/change_form.html"
    noun: str | Promise

    @abstractmethod
    def stop(self, row: Any, by: Any, reason: str) -> None:
        """Stop the row's work."""

    def get_urls(self) -> list[URLPattern]:
        stop = path(
            "<str:object_id>/stop/", self.admin_site.admin_view(self.stop_view), name=f"{self._url_name}_stop"
        )
        return [stop, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        can_be_stopped = self.may_stop(request) and row is not None and row.is_stoppable
        stop_url = reverse(f"admin:{self._url_name}_stop", args=[object_id]) if can_be_stopped else None
        return super().change_view(
            request, object_id, form_url, {"stop_url": stop_url, **(extra_context or {})}
        )

    def stop_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for a reason, stop the row's work and return to the page with the stop link."""
        if not self.may_stop(request):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404(f"There is no {self.opts.verbose_name} {object_id}.")
        return_url = self._return_url(request, object_id)
        if not row.is_stoppable:
            text = _("There is nothing to stop: %(noun)s is already %(status)s.")
            messages.warning(
                request, text % {"noun": str(self.noun).lower(), "status": row.get_status_display().lower()}
            )
            return HttpResponseRedirect(return_url)
        form = StopForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            self.stop(row, request.user.pk, form.cleaned_data["reason"])
            messages.success(request, _("%(noun)s is being stopped.") % {"noun": self.noun})
            return HttpResponseRedirect(return_url)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Stop %(noun)s?") % {"noun": str(self.noun).lower()},
            "opts": self.opts,
            "media": self.media,
            "row": row,
            "form": form,
            "return_url": return_url,
        }
        return TemplateResponse(request, "admin/sessions_app/stoppable/stop.html", context)

    def may_stop(self, request: HttpRequest) -> bool:
        """True when the user may see and stop rows of this model."""
        may_see = self.has_view_permission(request) or request.user.has_perm("sessions_app.view_session")
        return may_see and request.user.has_perm(f"{self.opts.app_label}.cancel_{self.opts.model_name}")

    def _return_url(self, request: HttpRequest, object_id: str) -> str:
        """Return the page of this site with the stop link; the row's page when it is unknown or on another site."""
        referring_page = request.POST.get("next") or request.GET.get("next") or ""
        if url_has_allowed_host_and_scheme(referring_page, {request.get_host()}, request.is_secure()):
            return referring_page
        return reverse(f"admin:{self._url_name}_change", args=[object_id])

    @property
    def _url_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

"""Stopping what is at work: the one thing that staff may do here, with a permission of its own."""

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

from sessions_app.admin.session_mixin import OfSessionAdmin
from sessions_app.models import Invocation, ToolJob

Stoppable = Invocation | ToolJob


class StopForm(forms.Form):
    """Why, in the words of whoever stops it."""

    reason = forms.CharField(
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        label=gettext_lazy("Why (optional)"),
        help_text=gettext_lazy("Kept for the audit. The person reads only that staff stopped it."),
    )


class StoppableAdmin(OfSessionAdmin):
    """Offers to stop a row that is queued or running to whoever may: `cancel_<model>` and a permission to view it.

    The row keeps who, when and why.
    """

    change_form_template = "admin/sessions_app/stoppable/change_form.html"
    thing: str | Promise

    @abstractmethod
    def stop(self, row: Any, by: Any, reason: str) -> None:
        """Have it stopped."""

    def get_urls(self) -> list[URLPattern]:
        stop = path(
            "<str:object_id>/stop/", self.admin_site.admin_view(self.stop_view), name=f"{self._name}_stop"
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
        offered = self.may_stop(request) and row is not None and row.is_at_work
        stop_url = reverse(f"admin:{self._name}_stop", args=[object_id]) if offered else None
        return super().change_view(
            request, object_id, form_url, {"stop_url": stop_url, **(extra_context or {})}
        )

    def stop_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, then stop it and go back to where one came from."""
        if not self.may_stop(request):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404(f"There is no {self.opts.verbose_name} {object_id}.")
        back = self._back(request, object_id)
        if not row.is_at_work:
            told = _("There is nothing to stop any more: %(thing)s is %(status)s.")
            messages.warning(
                request, told % {"thing": self.thing, "status": row.get_status_display().lower()}
            )
            return HttpResponseRedirect(back)
        form = StopForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            self.stop(row, request.user.pk, form.cleaned_data["reason"])
            messages.success(request, _("%(thing)s is being stopped.") % {"thing": self.thing})
            return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Stop %(thing)s?") % {"thing": str(self.thing).lower()},
            "opts": self.opts,
            "media": self.media,
            "row": row,
            "form": form,
            "back": back,
        }
        return TemplateResponse(request, "admin/sessions_app/stoppable/stop.html", context)

    def may_stop(self, request: HttpRequest) -> bool:
        """Whether somebody may stop such things, and see what they stop."""
        may_see = self.has_view_permission(request) or request.user.has_perm("sessions_app.view_session")
        return may_see and request.user.has_perm(f"{self.opts.app_label}.cancel_{self.opts.model_name}")

    def _back(self, request: HttpRequest, object_id: str) -> str:
        """The page of this site that the link to stop it stood on."""
        asked_for = request.POST.get("next") or request.GET.get("next") or ""
        if url_has_allowed_host_and_scheme(asked_for, {request.get_host()}, request.is_secure()):
            return asked_for
        return reverse(f"admin:{self._name}_change", args=[object_id])

    @property
    def _name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

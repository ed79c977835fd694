"""Admin of legal holds: staff set and lift a hold, with a permission for each; nothing else changes a hold."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.base import ReadOnlyAdmin
from sessions_app.data_protection.holds import lift_hold, set_hold
from sessions_app.models import LegalHold


class LiftForm(forms.Form):
    """Reason for lifting a hold."""

    reason = forms.CharField(
        max_length=500, widget=forms.Textarea(attrs={"rows": 3, "cols": 60}), label=gettext_lazy("Reason")
    )


@admin.register(LegalHold)
class LegalHoldAdmin(ReadOnlyAdmin):
    """Holds, newest first."""

    change_form_template = "admin/sessions_app/legalhold/change_form.html"
    list_display = ("id", "session", "user", "set_at", "set_by", "lifted_at", "lifted_by")
    list_filter = (("lifted_at", admin.EmptyFieldListFilter), "set_at")
    list_select_related = ("session", "user", "set_by", "lifted_by")
    ordering = ("-id",)
    raw_id_fields = ("session", "user")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("sessions_app.set_legalhold")

    def has_lift_permission(self, request: HttpRequest) -> bool:
        """True when the user may lift holds."""
        return request.user.has_perm("sessions_app.lift_legalhold")

    def get_fields(self, request: HttpRequest, obj: LegalHold | None = None) -> tuple[str, ...]:
        if obj is None:
            return ("session", "user", "reason")
        return (
            "session", "user", "reason", "set_at", "set_by", "lifted_at", "lifted_by", "lift_reason",
        )  # fmt: skip

    def save_model(self, request: HttpRequest, obj: LegalHold, form: Any, change: bool) -> None:
        set_hold(obj, by=request.user.pk)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.lift_view)
        return [path("<int:hold_id>/lift/", view, name="sessions_app_legalhold_lift"), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        hold = self.get_object(request, object_id)
        lift_url = None
        if hold is not None and hold.lifted_at is None and self.has_lift_permission(request):
            lift_url = reverse("admin:sessions_app_legalhold_lift", args=[hold.pk])
        return super().change_view(
            request, object_id, form_url, {"lift_url": lift_url, **(extra_context or {})}
        )

    def lift_view(self, request: HttpRequest, hold_id: int) -> HttpResponse:
        """Ask for a reason, lift the hold and return to its page."""
        if not self.has_lift_permission(request):
            raise PermissionDenied
        hold = self.get_object(request, str(hold_id))
        if hold is None:
            raise Http404(f"There is no legal hold {hold_id}.")
        return_url = reverse("admin:sessions_app_legalhold_change", args=[hold_id])
        form = LiftForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            if lift_hold(hold, by=request.user.pk, reason=form.cleaned_data["reason"]):
                messages.success(request, _("The legal hold is lifted."))
            else:
                messages.warning(request, _("The legal hold was lifted before."))
            return HttpResponseRedirect(return_url)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Lift the legal hold?"),
            "opts": self.opts,
            "media": self.media,
            "hold": hold,
            "form": form,
            "return_url": return_url,
        }
        return TemplateResponse(request, "admin/sessions_app/legalhold/lift.html", context)

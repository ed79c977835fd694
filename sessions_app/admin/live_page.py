"""Live refresh of a list and of the page of a row, while the button "Follow changes" is pressed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import flatten
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from sessions_app.admin.keyset_list import KeysetAdmin
from sessions_app.admin.stoppable import StoppableAdmin


class LivePageAdmin(StoppableAdmin, KeysetAdmin):
    """Admin with a button "Follow changes" on the list, and on the page of each open row.

    A followed page loads the live fields every two seconds, and itself when `version` has changed. Only loads of the
    whole page are recorded as accesses.

    Attributes:
        live_fields: lines of `fields` with values that change while the row is open, without text of a conversation.
    """

    change_list_template = "admin/sessions_app/live/change_list.html"
    change_form_template = "admin/sessions_app/live/change_form.html"
    live_fields: ClassVar[tuple[str | tuple[str, ...], ...]] = ()

    @abstractmethod
    def version(self, row: Any) -> str:
        """Return a text that changes with the other fields of the row: then the whole page is loaded again."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.live_view)
        return [path("<str:object_id>/live/", view, name=self._live_url_name), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        context = dict(extra_context or {})
        # An ended row changes no more, so its page need not refresh itself.
        if row is not None and row.is_stoppable:
            url = reverse(f"admin:{self._live_url_name}", args=[object_id])
            context |= {"live_url": url, "version": self.version(row)}
        return super().change_view(request, object_id, form_url, context)

    def live_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the live fields of a row as they are now.

        Raises:
            PermissionDenied: the user may not see the rows, or the request could write.
            Http404: there is no such row within the remits of the user.
        """
        self.require_reading(request)
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404(f"There is no {self.opts.verbose_name} {object_id}.")
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        # No access is recorded: the live fields have no words, and a page asks every two seconds.
        form = self.get_form(request, row, change=True)(instance=row)
        readonly = flatten(self.live_fields)
        fieldsets: Any = [(None, {"fields": self.live_fields})]
        fields = AdminForm(form, fieldsets, {}, readonly, model_admin=self)
        context = {"adminform": fields, "version": self.version(row)}
        return TemplateResponse(request, "admin/sessions_app/live/fields.html", context)

    @property
    def _live_url_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_live"

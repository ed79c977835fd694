"""Guard around all views of an admin.

In each page secrets are masked and hidden characters become visible, whatever the view and its template have written:
the guard works on the finished HTML, so no column can forget it. Statements of a reading request have a time limit: a
search or a filter over large tables must not keep the database busy. If the project has a replica, reading requests are
answered from it (`process.replica`), and the page says so.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Never

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import Permission
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, transaction
from django.http import Http404, HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from psycopg.errors import QueryCanceled

from sessions_app.admin.framework.permissions import may
from sessions_app.admin.framework.uncounted_list import UncountedChangeList
from sessions_app.conf import conf
from sessions_app.process.replica import (
    ReadFrom,
    has_replica,
    read_primary,
    read_replica,
    reading_connection,
    written_position,
)
from sessions_app.rendering.hidden_characters import show_hidden_characters
from sessions_app.secrets.masking import mask_html, masking

logger = logging.getLogger(__name__)
View = Callable[..., HttpResponseBase]
WRITTEN_COOKIE = "adk_written"
"""Position of the last write of a member of staff, who must see it on the next page."""
WRITTEN_SECONDS = 600


class GuardedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Admin with guarded views, including the views of subclasses, and without a count of the rows of its list."""

    change_list_template = "admin/sessions_app/uncounted_list.html"
    # Without this, a search would count the whole table.
    show_full_result_count = False
    # Counts next to the choices of filters would read the table once for each choice.
    show_facets = admin.ShowFacets.NEVER

    class Media:
        css = {"all": ["sessions_app/admin/audit.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return UncountedChangeList

    def show(
        self, request: HttpRequest, template: str, title: str | Promise, **context: Any
    ) -> TemplateResponse:
        """Return a page of this admin with the common context of Django's pages."""
        common = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "has_view_permission": self.has_view_permission(request),
            "media": self.media,
        }
        return TemplateResponse(request, template, common | context)

    def view_path(self, route: str, view: View, name: str, **kwargs: Any) -> URLPattern:
        """Return the path of a view besides Django's; its URL is `url_of(name)`."""
        full_name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return path(route, self.admin_site.admin_view(view), kwargs, full_name)

    def url_of(self, name: str, *args: object) -> str:
        """Return the URL of a view of this admin, such as `changelist`, or `change` with a primary key."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def get_row(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row within the remits of the user.

        Raises:
            Http404: there is no such row.
        """
        row = self.get_object(request, object_id)
        if row is None:
            self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        return row

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> Never:
        # Not Django's redirect: the answer is the same for a missing row and for a row outside of the remits.
        raise Http404(f"There is no {opts.verbose_name} {object_id}.")

    @property
    def urls(self) -> list[URLPattern]:
        # Here, and not in `get_urls`: subclasses add their views there, some of them after this class.
        patterns: list[URLPattern] = self.get_urls()
        for pattern in patterns:
            pattern.callback = self.guard(pattern.callback)
        return patterns

    def guard(self, view: View) -> View:
        """Return the view with the guard of this module around it."""

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            with masking():
                try:
                    response = _respond_in_time(view, request, *args, **kwargs)
                except OperationalError as error:
                    # PostgreSQL cancels a statement after its time limit.
                    if not isinstance(error.__cause__, QueryCanceled):
                        raise
                    response = self._too_slow(request)
                except PermissionDenied:
                    response = self._refused(request)
                return _safe_to_show(response)

        return guarded

    def _refused(self, request: HttpRequest) -> HttpResponseBase:
        """Return the page that names the missing permissions, if some are missing."""
        referring_page = request.headers.get("Referer", "")
        if not url_has_allowed_host_and_scheme(referring_page, {request.get_host()}, request.is_secure()):
            referring_page = reverse("admin:index")
        page = self.show(
            request,
            "admin/sessions_app/refused.html",
            _("You may not do this"),
            missing=self._missing_rights(request),
            return_url=referring_page,
        )
        page.status_code = 403
        return page

    def _missing_rights(self, request: HttpRequest) -> list[str]:
        """Return the names of the permissions that the user lacks for a page of this admin."""
        rights: list[str] = getattr(request, "missing_rights", [])
        if not rights:
            action = str(request.resolver_match and request.resolver_match.url_name).rpartition("_")[2]
            rights = [right for right in self.rights_for(action) if not may(request, right)]
        codenames = [right.rpartition(".")[2] for right in rights]
        found = (
            Permission.objects.filter(codename__in=codenames).select_related("content_type").order_by("name")
        )
        # Models of two apps may have one name.
        return [row.name for row in found if f"{row.content_type.app_label}.{row.codename}" in rights]

    def rights_for(self, action: str) -> list[str]:
        """Return the permissions for a page, by the last word of its URL's name."""
        return [f"{self.opts.app_label}.{name}_{self.opts.model_name}" for name in ("view", action)]

    def _too_slow(self, request: HttpRequest) -> HttpResponseBase:
        seconds = conf().audit_statement_seconds
        page = self.show(
            request, "admin/sessions_app/too_slow.html", _("This takes too long"), seconds=seconds
        )
        page.status_code = 503
        return page


_SETTINGS = "SELECT set_config('statement_timeout', %s, true), set_config('random_page_cost', '1.1', true)"
"""Time limit of a page's statements, and cost of reading a page of a table out of order.

PostgreSQL's default cost is that of spinning disks, with which it would read whole tables for the few rows of a page.
"""


def _respond_in_time(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """Return the response; for a reading request rendered, and with a time limit for its statements."""
    if request.method not in ("GET", "HEAD"):
        response = view(request, *args, **kwargs)
        if has_replica():
            response.set_cookie(
                WRITTEN_COOKIE,
                written_position(),
                max_age=WRITTEN_SECONDS,
                secure=request.is_secure(),
                httponly=True,
                samesite="Lax",
            )
        return response
    with read_replica(request.COOKIES.get(WRITTEN_COOKIE, "")) as read_from:
        try:
            return _read_in_time(view, request, read_from, *args, **kwargs)
        except OperationalError as error:
            if not read_from.is_replica or isinstance(error.__cause__, QueryCanceled):
                raise
            # It was stopped, or cancelled the statement to replay a change of the rows that the statement read.
            logger.warning("The replica failed, so the page is read from the primary: %s", error)
            read_primary()
            return _read_in_time(view, request, ReadFrom(), *args, **kwargs)


def _read_in_time(
    view: View, request: HttpRequest, read_from: ReadFrom, *args: Any, **kwargs: Any
) -> HttpResponseBase:
    request.read_from = read_from  # type: ignore[attr-defined]
    milliseconds = round(conf().audit_statement_seconds * 1000)
    connection = reading_connection()
    with transaction.atomic(connection.alias):
        with connection.cursor() as cursor:
            # For this transaction only: a connection pooler may give the connection to another process.
            cursor.execute(_SETTINGS, [str(milliseconds)])
        response = view(request, *args, **kwargs)
        # Inside of the transaction: templates run queries of their own.
        return response.render() if isinstance(response, TemplateResponse) else response


def _safe_to_show(response: HttpResponseBase) -> HttpResponseBase:
    """Return the response; a page is rendered, with masked secrets and visible hidden characters."""
    if isinstance(response, TemplateResponse):
        page = response.render().content.decode()
        shown = show_hidden_characters(mask_html(page))
        if shown != page:
            response.content = shown
    return response

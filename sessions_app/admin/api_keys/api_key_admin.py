"""Admin of API keys: owner, scopes and last use of each key. Staff revoke keys and make keys of services."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.api_keys.service_key_form import ServiceKeyForm
from sessions_app.admin.base import ReadOnlyAdmin
from sessions_app.admin.confirmed_action import ConfirmedActionAdmin, revoke_wording
from sessions_app.admin.page_context import page_context
from sessions_app.admin.permissions import OF_USER, Right, may
from sessions_app.admin.presence_filter import presence_filter
from sessions_app.admin.staff_acts import staff_of
from sessions_app.base.actors import Actor
from sessions_app.errors import InvalidInputError, LimitExceededError
from sessions_app.live.account_changes import check_person
from sessions_app.models import ActionKind, ApiKey
from sessions_app.use_cases.keys import make_key, revoke_key


class InForceFilter(admin.SimpleListFilter):
    """Filter of keys by whether they are in force."""

    title = gettext_lazy("in force")
    parameter_name = "in_force"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", _("Yes")), ("no", _("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        active = Q(pk__in=ApiKey.objects.active().values("pk"))
        return {"yes": queryset.filter(active), "no": queryset.exclude(active)}.get(
            self.value() or "", queryset
        )


@admin.register(ApiKey)
class ApiKeyAdmin(ConfirmedActionAdmin, ReadOnlyAdmin):
    """Keys, newest first."""

    action = ActionKind.REVOKE
    wording = revoke_wording(
        gettext_lazy("Revoke the API key?"),
        gettext_lazy("The API key is revoked, with those that it has made."),
    )
    remit_paths = (OF_USER,)
    list_display = (
        "prefix", "name", "user", "people", "may_do", "in_force", "last_used_at", "expires_at", "created_at",
    )  # fmt: skip
    list_filter = (
        InForceFilter,
        ("people", presence_filter(absent=gettext_lazy("One person"), present=gettext_lazy("A group"))),
        "last_used_at",
        "expires_at",
        "created_at",
    )
    list_select_related = ("user", "people")
    ordering = ("-created_at", "pk")
    search_fields = ("=prefix", "name", "=user__username")
    fields = (
        "prefix", "name", "user", "people", "made_by", "may_do", "most_requests", "most_tokens", "tokens_of_day",
        "created_at", "expires_at", "last_used_at", "revoked_at", "revoked_by_name",
    )  # fmt: skip

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request, Right.ADD_KEY)

    def has_action_permission(self, request: HttpRequest) -> bool:
        return may(request, Right.REVOKE_KEY)

    def why_not(self, row: ApiKey) -> str:
        return "" if row.revoked_at is None else _("The API key was revoked before.")

    def describe(self, row: ApiKey) -> SafeString:
        return format_html(_("<b><bdi>{}</bdi></b> of <bdi>{}</bdi>"), row, row.user)

    def act(self, row: ApiKey, by: Actor, reason: str) -> None:
        revoke_key(ApiKey.objects.all(), row.pk, by, reason)
        # Open connections of the key end now, and not at their next check.
        check_person(row.user_id)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Make the key of a service, and show it this once.

        Raises:
            PermissionDenied: the user may not make keys.
        """
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ServiceKeyForm(request, request.POST if request.method == "POST" else None)
        context = {
            **page_context(self, request, _("Make the key of a service")),
            "form": form,
        }
        if form.is_valid():
            try:
                row, key = make_key(form.cleaned_data["user"], form.properties(), staff_of(request))
            except (InvalidInputError, LimitExceededError) as error:
                form.add_error(None, str(error))
            else:
                self.log_addition(request, row, [{"added": {}}])
                return self._shown_once(request, {**context, "row": row, "key": key})
        return TemplateResponse(request, "admin/sessions_app/apikey/add.html", context)

    def _shown_once(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        """Return the page with the new key, the only time the key is shown."""
        # The guard of the views masks the secrets of a `TemplateResponse`: it must not get one with the key.
        page = TemplateResponse(request, "admin/sessions_app/apikey/made.html", context).render()
        return HttpResponse(page.content, headers={"Cache-Control": "no-store"})

    @admin.display(description=gettext_lazy("Scopes"))
    def may_do(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=gettext_lazy("In force"), boolean=True)
    def in_force(self, key: ApiKey) -> bool:
        return key.is_in_force and bool(key.user.is_active)

    @admin.display(description=gettext_lazy("Requests per minute"))
    def most_requests(self, key: ApiKey) -> str:
        return str(key.requests_per_minute) if key.requests_per_minute else _("as many as a person may send")

    @admin.display(description=gettext_lazy("Tokens per day"))
    def most_tokens(self, key: ApiKey) -> str:
        return str(key.tokens_per_day) if key.tokens_per_day else _("no limit of the key")

    @admin.display(description=gettext_lazy("Tokens today"))
    def tokens_of_day(self, key: ApiKey) -> int:
        usage = getattr(key, "usage", None)
        return usage.tokens if usage and usage.day == timezone.localdate() else 0

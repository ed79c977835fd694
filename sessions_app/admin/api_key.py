"""Admin of API keys: owner, scopes and last use of each key. Staff revoke keys and make keys of services."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.framework.base import ReadOnlyAdmin
from sessions_app.admin.framework.confirmed_action import ConfirmedActionAdmin, revoke_wording
from sessions_app.admin.framework.filters import presence_filter
from sessions_app.admin.framework.permissions import (
    REMIT_OF_PERSON,
    REMIT_OF_USER,
    Right,
    may,
    remits_of,
    require,
    within_remits,
)
from sessions_app.admin.framework.staff_records import staff_of
from sessions_app.base.actors import Actor
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.errors import InvalidInputError, LimitExceededError
from sessions_app.live.account_changes import check_person
from sessions_app.models import ActionKind, ApiKey, Scope
from sessions_app.models.api_key import NAME_LENGTH
from sessions_app.use_cases.keys import KeyProperties, make_key, revoke_key


class ServiceKeyForm(forms.Form):
    """Properties of a service's key, within the remits of its maker."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=NAME_LENGTH)
    user = forms.ModelChoiceField(
        get_user_model()._default_manager.none(),
        label=gettext_lazy("Account"),
        help_text=gettext_lazy(
            "The key belongs to this account and acts for it. Give a service an account of its own."
        ),
    )
    people = forms.ModelChoiceField(
        Group.objects.none(),
        label=gettext_lazy("People"),
        required=False,
        help_text=gettext_lazy(
            "Group of the people for whom the key acts as well; never for staff and superusers in it."
        ),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple
    )
    expires_at = forms.SplitDateTimeField(
        label=gettext_lazy("Expires at"),
        required=False,
        widget=forms.SplitDateTimeWidget(
            date_attrs={"type": "date", "aria-label": gettext_lazy("Day on which it expires")},  # type: ignore[dict-item]
            time_attrs={"type": "time", "aria-label": gettext_lazy("Time at which it expires")},  # type: ignore[dict-item]
        ),
    )
    requests_per_minute = forms.IntegerField(
        label=gettext_lazy("Requests per minute"),
        min_value=0,
        max_value=MAX_INTEGER,
        initial=0,
        help_text=gettext_lazy(
            "0 stands for the site's limit of a person. With people, the number counts in place of that limit."
        ),
    )
    tokens_per_day = forms.IntegerField(
        label=gettext_lazy("Tokens per day"),
        min_value=0,
        max_value=MAX_INTEGER,
        initial=0,
        help_text=gettext_lazy("0 is no limit."),
    )

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(data)
        accounts = get_user_model()._default_manager.filter(is_active=True)
        if not request.user.is_superuser:  # Nobody makes a key with more rights than its maker has.
            accounts = accounts.filter(is_staff=False, is_superuser=False)
        self.fields["user"].queryset = within_remits(request, accounts, REMIT_OF_PERSON)  # type: ignore[attr-defined]
        groups = Group.objects.order_by("name")
        if remits := remits_of(request):
            # A key works in all apps, so a remit of one app covers no group for it.
            groups = groups.filter(pk__in=[remit.people_id for remit in remits if not remit.app_name])
        self.fields["people"].queryset = groups  # type: ignore[attr-defined]

    def properties(self) -> KeyProperties:
        """Return the properties of the key, from a valid form."""
        given = self.cleaned_data
        return KeyProperties(
            name=given["name"],
            scopes=tuple(Scope(scope) for scope in given["scopes"]),
            expires_at=given["expires_at"],
            requests_per_minute=given["requests_per_minute"],
            tokens_per_day=given["tokens_per_day"],
            people_id=given["people"].pk if given["people"] else None,
        )


class InForceFilter(admin.SimpleListFilter):
    """Filter of keys by whether they are in force."""

    title = gettext_lazy("in force")
    parameter_name = "in_force"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", _("Yes")), ("no", _("No"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        active = Q(pk__in=ApiKey.objects.active().values("pk"))
        match self.value():
            case "yes":
                return queryset.filter(active)
            case "no":
                return queryset.exclude(active)
        return queryset


@admin.register(ApiKey)
class ApiKeyAdmin(ConfirmedActionAdmin, ReadOnlyAdmin):
    """Keys, newest first."""

    action = ActionKind.REVOKE
    wording = revoke_wording(
        gettext_lazy("Revoke the API key?"),
        gettext_lazy("The API key is revoked, with those that it has made."),
    )
    remit_paths = (REMIT_OF_USER,)
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
        return _("The API key was revoked before.") if row.revoked_at else ""

    def describe(self, row: ApiKey) -> SafeString:
        return format_html(_("<b><bdi>{}</bdi></b> of <bdi>{}</bdi>"), row, row.user)

    def act(self, row: ApiKey, by: Actor, reason: str) -> None:
        revoke_key(ApiKey.objects.all(), row.pk, by, reason)
        # Open connections of the key end now, and not at their next check.
        check_person(row.user_id)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Make the key of a service, and show it this once."""
        require(request, Right.ADD_KEY)
        title = _("Make the key of a service")
        form = ServiceKeyForm(request, request.POST or None)
        if form.is_valid():
            try:
                row, key = make_key(form.cleaned_data["user"], form.properties(), staff_of(request))
            except (InvalidInputError, LimitExceededError) as error:
                form.add_error(None, str(error))
            else:
                self.log_addition(request, row, [{"added": {}}])
                made = self.show(request, "admin/sessions_app/apikey/made.html", title, row=row, key=key)
                # The guard of the views masks the secrets of a `TemplateResponse`: it must not get this one.
                return HttpResponse(made.render().content, headers={"Cache-Control": "no-store"})
        return self.show(request, "admin/sessions_app/apikey/add.html", title, form=form)

    @admin.display(description=gettext_lazy("Scopes"))
    def may_do(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=gettext_lazy("In force"), boolean=True)
    def in_force(self, key: ApiKey) -> bool:
        return key.is_in_force and bool(key.user.is_active)

    @admin.display(description=gettext_lazy("Requests per minute"))
    def most_requests(self, key: ApiKey) -> str:
        if key.requests_per_minute:
            return str(key.requests_per_minute)
        return _("as many as a person may send")

    @admin.display(description=gettext_lazy("Tokens per day"))
    def most_tokens(self, key: ApiKey) -> str:
        return str(key.tokens_per_day) if key.tokens_per_day else _("no limit of the key")

    @admin.display(description=gettext_lazy("Tokens today"))
    def tokens_of_day(self, key: ApiKey) -> int:
        usage = getattr(key, "usage", None)
        return usage.tokens if usage and usage.day == timezone.localdate() else 0

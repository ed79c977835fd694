"""Form for the key of a service: its account, its group of further people, its scopes and limits."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.permissions import OF_PERSON, remits_of, within_remits
from sessions_app.base.codec import MAX_INTEGER
from sessions_app.models import Scope
from sessions_app.models.api_key import NAME_LENGTH
from sessions_app.use_cases.keys import KeyProperties


class ServiceKeyForm(forms.Form):
    """Properties of a service's key, within the remits of its maker."""

    name = forms.CharField(label=_("Name"), max_length=NAME_LENGTH)
    user = forms.ModelChoiceField(
        get_user_model()._default_manager.none(),
        label=_("Account"),
        help_text=_("The key belongs to this account and acts for it. Give a service an account of its own."),
    )
    people = forms.ModelChoiceField(
        Group.objects.none(),
        label=_("People"),
        required=False,
        help_text=_(
            "Group of the people for whom the key acts as well; never for staff and superusers in it."
        ),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple
    )
    expires_at = forms.SplitDateTimeField(
        label=_("Expires at"),
        required=False,
        widget=forms.SplitDateTimeWidget(
            date_attrs={"type": "date", "aria-label": _("Day on which it expires")},  # type: ignore[dict-item]
            time_attrs={"type": "time", "aria-label": _("Time at which it expires")},  # type: ignore[dict-item]
        ),
    )
    requests_per_minute = forms.IntegerField(
        label=_("Requests per minute"),
        min_value=0,
        max_value=MAX_INTEGER,
        initial=0,
        help_text=_(
            "0 stands for the site's limit of a person. With people, the number counts in place of that limit."
        ),
    )
    tokens_per_day = forms.IntegerField(
        label=_("Tokens per day"),
        min_value=0,
        max_value=MAX_INTEGER,
        initial=0,
        help_text=_("0 is no limit."),
    )

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(data)
        accounts = get_user_model()._default_manager.filter(is_active=True)
        if not request.user.is_superuser:  # Nobody makes a key with more rights than its maker has.
            accounts = accounts.filter(is_staff=False, is_superuser=False)
        self.fields["user"].queryset = within_remits(request, accounts, OF_PERSON)  # type: ignore[attr-defined]
        remits = remits_of(request)
        # A key works in all apps, so a remit of one app covers no group for it.
        within = Q(pk__in=[remit.people_id for remit in remits if not remit.app_name]) if remits else Q()
        self.fields["people"].queryset = Group.objects.filter(within).order_by("name")  # type: ignore[attr-defined]

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

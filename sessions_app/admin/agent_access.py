"""Page "Who may use which agent": the people of each agent, and the agents of a person."""

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.framework.base import require_read_request
from sessions_app.admin.framework.guarded_views import GuardedAdmin
from sessions_app.admin.framework.permissions import remits_of
from sessions_app.agent_apps import registry
from sessions_app.base.actors import NAME_LENGTH
from sessions_app.conf import EVERYONE, HIDDEN, PERMISSION, conf
from sessions_app.sessions.agent_access import permission_to_use, usable_names

AGENTS = "agents"
"""Name of the view."""
MAX_NAMES = 30
RULES = {
    EVERYONE: gettext_lazy("open to everybody who is signed in"),
    PERMISSION: gettext_lazy("with a permission"),
    HIDDEN: gettext_lazy("hidden from everybody"),
}


class PersonForm(forms.Form):
    person = forms.CharField(required=False, max_length=NAME_LENGTH, label=gettext_lazy("Person"))


class AgentAccessMixin(GuardedAdmin):
    """Admin of users with the page, which has people within the remits only."""

    class Media:
        css = {"all": ["sessions_app/admin/figures.css"]}

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("agents/", self.agents_view, AGENTS), *super().get_urls()]

    def agents_view(self, request: HttpRequest) -> HttpResponse:
        """Return the page; with the name of a person, with the answer for this person."""
        require_read_request(request)
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = PersonForm(request.GET, auto_id="filter-%s")
        name = form.cleaned_data["person"] if form.is_valid() else ""
        people = self.get_queryset(request).filter(is_active=True)
        person = None
        if name:
            person = people.filter(**{get_user_model().USERNAME_FIELD: name}).first()
        return self.show(
            request,
            "admin/sessions_app/agent_access.html",
            gettext_lazy("Who may use which agent"),
            form=form,
            name=name,
            person=person,
            number_of_superusers=people.filter(is_superuser=True).count(),
            rows=[_row(people, app_name, person) for app_name in _app_names(request)],
        )


def _app_names(request: HttpRequest) -> list[str]:
    """Return the apps of the site within the remits of the user."""
    covered = {remit.app_name for remit in remits_of(request)}
    names = sorted(registry.apps())
    return names if not covered or "" in covered else [name for name in names if name in covered]


def _row(people: QuerySet[Any], app_name: str, person: Any) -> dict[str, Any]:
    """Return who may use an app, and whether and by what the person may, if there is one."""
    rule = conf().access_of(app_name)
    permission = permission_to_use(app_name)
    groups = Group.objects.none()
    named = people.none()
    if rule == PERMISSION:
        members = Count("user", filter=Q(user__in=people))
        groups = Group.objects.filter(permissions__in=permission).annotate(members=members).order_by("name")
        named = people.filter(user_permissions__in=permission).order_by(get_user_model().USERNAME_FIELD)
    through = []
    if person:
        through = [group.name for group in groups.filter(user=person)]
        if rule == PERMISSION and person.is_superuser:
            through.append(_("superuser"))
        if named.filter(pk=person.pk).exists():
            through.append(_("a permission of their own"))
    return {
        "name": app_name,
        "rule": RULES[rule],
        "groups": groups,
        "people": [str(account) for account in named[:MAX_NAMES]],
        "number_of_others": max(named.count() - MAX_NAMES, 0),
        "needs_permission": rule == PERMISSION,
        "answer": bool(person and usable_names(person.pk, [app_name])),
        "through": ", ".join(through),
    }

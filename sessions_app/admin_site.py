"""The site of the admin, with a home page that shows what waits and what failed, and the models in four groups.

A project uses it with "sessions_app.admin_site.HomeAdminConfig" in place of "django.contrib.admin" in INSTALLED_APPS.
Django makes the site before it loads the apps, so this module imports the admin's modules within its methods.
"""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise, lazy
from django.utils.translation import gettext_lazy as _

from sessions_app.conf import conf

MENU = {
    "conversations": (
        _("Conversations"),
        "Session Event Artifact Feedback Annotation ShareLink AppState UserState MemoryEntry KnowledgeSearch",
    ),
    "work": (
        _("Work"),
        "AnswerRequest ActRequest Failure CallError Invocation ToolJob ScheduledTask Evaluation WebhookDelivery"
        " DayFigure",
    ),
    "evidence": (
        _("Evidence"),
        "CaseFile StaffAct SessionAct AccountAct StaffAccess LegalHold Tombstone AccessAttempt",
    ),
    "settings": (_("Settings"), ""),
}
"""Title of each group, and names of its models in order. All other models are settings."""
INBOX = "AnswerRequest"


class HomeAdminConfig(AdminConfig):
    """Django's admin with this site."""

    default_site = "sessions_app.admin_site.HomeAdminSite"


class HomeAdminSite(AdminSite):
    """Site named as the chat pages, with a home page for staff who have work to do."""

    index_title = _("What needs you")

    @property
    def site_title(self) -> str:  # type: ignore[override]
        """Name of the site, in the title of each page."""
        return conf().site_name

    @property
    def site_header(self) -> str:  # type: ignore[override]
        """Name of the site, at the top of each page."""
        return conf().site_name

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Return the home page: what the user may see of it, with secrets masked as on the other pages."""
        from sessions_app.models import DayFigure

        overview: Any = self.get_model_admin(DayFigure)
        return overview.guard(overview.home_view)(request)  # type: ignore[no-any-return]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return the models in the groups of `MENU`; with `app_label`, the models of this app as Django does."""
        apps = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        models = {model["object_name"]: model for app in apps for model in app["models"]}
        if INBOX in models:
            models[INBOX]["name"] = _inbox_name(request, models[INBOX]["name"])
        groups = []
        for label, (title, names) in MENU.items():
            found = [models.pop(name) for name in names.split() if name in models]
            if not names:
                found = list(models.values())
            if label == "evidence":
                found = _with_page(found, "StaffAct", "sessions_app_staffact_all", _("Who did what"))
            elif label == "settings":
                accounts = get_user_model()._meta
                page = f"{accounts.app_label}_{accounts.model_name}_agents"
                found = _with_page(found, str(accounts.object_name), page, _("Who may use which agent"))
            if found:
                url = f"{reverse('admin:index')}#{label}"
                groups.append({"name": title, "app_label": label, "app_url": url, "models": found})
        return groups


def _with_page(models: list[Any], object_name: str, page: str, title: Promise) -> list[Any]:
    """Return the entries with a page before them, for users who may view the model of the page."""
    entries = [
        {**model, "name": title, "object_name": page, "admin_url": reverse(f"admin:{page}"), "add_url": None}
        for model in models
        if model["object_name"] == object_name and model["perms"].get("view")
    ]
    return [*entries, *models]


def _inbox_name(request: HttpRequest, name: object) -> object:
    """Return the name of the inbox with the number of requests that wait for the user, counted when it is shown."""

    def numbered() -> str:
        from sessions_app.admin.inbox.answer_request_admin import count_mine

        number = count_mine(request)
        return f"{name} ({number})" if number else str(name)

    return lazy(numbered, str)()

"""Admin of webhooks and of the deliveries to them. Secrets are not shown."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import ReadOnlyAdmin
from sessions_app.admin.framework.filters import presence_filter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import REMIT_OF_USER, RemitPaths
from sessions_app.models import Webhook, WebhookDelivery


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    """Webhooks, newest first."""

    remit_paths = (REMIT_OF_USER,)
    list_display = (
        "url",
        "user",
        "people",
        "told",
        "made_by",
        "created_at",
        "disabled_at",
        "disabled_reason",
    )
    list_filter = (("disabled_at", presence_filter(absent=_("Enabled"), present=_("Disabled"))), "created_at")
    list_select_related = ("user", "people", "made_by")
    ordering = ("-created_at", "pk")
    fields = ("url", "user", "people", "made_by", "told", "created_at", "disabled_at", "disabled_reason")

    @admin.display(description=_("Events"))
    def told(self, hook: Webhook) -> str:
        return ", ".join(hook.events)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(KeysetAdmin):
    """Deliveries, newest first."""

    remit_paths = (RemitPaths("", "webhook__user"),)
    list_display = (
        "id", "event", "subject", "webhook", "attempts", "response_status", "created_at", "delivered_at", "next_at",
        "error",
    )  # fmt: skip
    list_filter = (
        ("delivered_at", presence_filter(absent=_("Not delivered"), present=_("Delivered"))),
        "event",
        "created_at",
    )
    list_select_related = ("webhook",)
    ordering = ("-id",)
    fields = (
        "message_id", "webhook", "event", "subject", "payload", "attempts", "response_status", "error", "created_at",
        "delivered_at", "next_at",
    )  # fmt: skip

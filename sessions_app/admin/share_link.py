"""Admin of share links: session, owner and times of each link; staff revoke a link."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.confirmed_action import ConfirmedActionAdmin, revoke_wording
from sessions_app.admin.framework.filters import AppFilter, presence_filter
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.permissions import Right, may
from sessions_app.base.actors import Actor
from sessions_app.models import ActionKind, ShareLink
from sessions_app.sessions.sharing import revoke_links


@admin.register(ShareLink)
class ShareLinkAdmin(ConfirmedActionAdmin, KeysetAdmin, SessionRowAdmin):
    """Share links, newest first, without their tokens: staff read a session on its page in the admin."""

    action = ActionKind.REVOKE
    takes_turns = True
    wording = revoke_wording(
        gettext_lazy("Revoke the share link?"), gettext_lazy("The share link is revoked.")
    )
    list_display = ("id", "of_session", "app", "shared_by", "created_at", "revoked_at", "revoked_by_name")
    list_filter = (
        AppFilter,
        ("revoked_at", presence_filter(absent=gettext_lazy("In force"), present=gettext_lazy("Revoked"))),
        "created_at",
    )
    list_select_related = ("session__user",)
    ordering = ("-id",)
    search_fields = ("session__title", "session__key")
    fields = ("of_session", "shared_by", "created_at", "revoked_at", "revoked_by_name")

    def has_action_permission(self, request: HttpRequest) -> bool:
        return may(request, Right.REVOKE_LINK)

    def why_not(self, row: ShareLink) -> str:
        return "" if row.revoked_at is None else _("The share link was revoked before.")

    def describe(self, row: ShareLink) -> SafeString:
        return format_html(_("<b><bdi>{}</bdi></b> of <bdi>{}</bdi>"), row.session, row.session.user)

    def act(self, row: ShareLink, by: Actor, reason: str) -> None:
        revoke_links(ShareLink.objects.filter(pk=row.pk), by)

    @admin.display(description=gettext_lazy("Shared by"))
    def shared_by(self, row: ShareLink) -> str:
        return row.session.user.get_username()

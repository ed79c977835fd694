"""URL patterns of the chat pages. A project includes them at an address of its choice; `api/urls.py` has the API."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter
from django.views.decorators.cache import cache_control

from sessions_app.chat import (
    embedded_views,
    event_stream,
    event_views,
    exports,
    files,
    inbox,
    key_views,
    memory_views,
    pane,
    settings_views,
    share_views,
    sign_in_views,
    views,
)
from sessions_app.extensions import extensions
from sessions_app.history.telemetry.metrics_view import metrics
from sessions_app.sessions.list.changes import CHANGES


class FilenameConverter(StringConverter):
    """Any filename, including slashes and line breaks: agents choose the names of their files."""

    regex = r"[\s\S]*"


class ChangeConverter(StringConverter):
    """Name of a change to a session in the list."""

    regex = "|".join(CHANGES)


register_converter(FilenameConverter, "filename")
register_converter(ChangeConverter, "change")


def _page(route: str, view: Callable[..., Any], name: str) -> URLPattern:
    # Everything here is of one person, and others may use the browser, or a cache, afterwards.
    return path(route, cache_control(private=True, no_store=True)(view), name=name)


app_name = "chat"
urlpatterns = [
    _page("metrics", metrics, name="metrics"),
    _page("", views.home, name="home"),
    _page("start/", views.start, name="start"),
    _page("preferences/", settings_views.save_preferences, name="preferences"),
    _page("settings/", settings_views.settings_page, name="settings"),
    _page("settings/known/", memory_views.known_page, name="known"),
    _page("settings/known/pause/", memory_views.pause, name="pause_memory"),
    _page("settings/known/change/", memory_views.change_value, name="change_known"),
    _page("settings/known/forget/", memory_views.forget_all, name="forget_known"),
    _page("settings/known/<int:entry_id>/", memory_views.change_entry, name="change_memory"),
    _page("settings/instructions/", settings_views.save_instructions, name="save_instructions"),
    _page(
        "settings/sign-ins/<int:credential_id>/forget/", settings_views.forget_sign_in, name="forget_sign_in"
    ),
    _page("settings/linked-accounts/<int:account_id>/unlink/", settings_views.unlink, name="unlink_account"),
    _page("sign-in/callback/", sign_in_views.signed_in, name="signed_in"),
    _page("sign-in/<str:call_id>/", sign_in_views.begin, name="sign_in"),
    _page("settings/allowances/withdraw/", settings_views.withdraw_allowances, name="withdraw_allowances"),
    _page(
        "settings/allowances/<uuid:session_id>/withdraw/",
        settings_views.withdraw_allowances,
        name="withdraw_allowance",
    ),
    _page("settings/export/", settings_views.export_data, name="export_data"),
    _page("settings/delete/", settings_views.delete_account, name="delete_account"),
    _page("keys/", key_views.keys, name="keys"),
    _page("keys/<uuid:key_id>/revoke/", key_views.revoke, name="revoke_key"),
    _page("chats/", views.session_list, name="list"),
    _page("activity/", inbox.activity_page, name="activity"),
    _page("activity/list/", inbox.activity, name="activity_list"),
    _page("chat/new/<str:app_name>/", views.new_session, name="new"),
    _page("chat/<uuid:session_id>/", views.session_page, name="session"),
    _page("embedded/<str:app_name>/", embedded_views.new_session, name="embedded_new"),
    _page("embedded/<str:app_name>/<uuid:session_id>/", embedded_views.session_page, name="embedded"),
    _page("chat/<uuid:session_id>/events/", views.earlier_events, name="events"),
    _page("chat/<uuid:session_id>/events/alternatives/", views.alternatives, name="alternatives"),
    _page("chat/<uuid:session_id>/events/<int:seq>/text/", event_views.answer_text, name="answer_text"),
    _page(
        "chat/<uuid:session_id>/events/<int:seq>/suggestions/", event_views.suggestions, name="suggestions"
    ),
    _page("chat/<uuid:session_id>/events/<int:seq>/cause/", event_views.cause, name="cause"),
    _page("chat/<uuid:session_id>/events/<int:seq>/feedback/", event_views.feedback, name="feedback"),
    _page("chat/<uuid:session_id>/steps/", views.steps, name="steps"),
    _page("chat/<uuid:session_id>/frames/", event_stream.frames, name="frames"),
    _page("chat/<uuid:session_id>/files/", files.files, name="files"),
    _page("chat/<uuid:session_id>/files/remove/", files.remove_file, name="remove_file"),
    _page("chat/<uuid:session_id>/preview/<filename:filename>", pane.preview, name="preview"),
    _page("chat/<uuid:session_id>/export/markdown/", exports.as_markdown, name="export_markdown"),
    _page("chat/<uuid:session_id>/export/json/", exports.as_json, name="export_json"),
    _page("chat/<uuid:session_id>/export/page/", exports.printable, name="export_page"),
    _page("chat/<uuid:session_id>/share/", share_views.share, name="share"),
    _page("chat/<uuid:session_id>/share/revoke/", share_views.revoke, name="revoke_share"),
    _page("shared/<slug:token>/", share_views.shared_session, name="shared"),
    _page("shared/<slug:token>/preview/<filename:filename>", pane.preview, name="shared_preview"),
    _page("chat/<uuid:session_id>/<change:change>/", views.change_session, name="change"),
    # These say themselves how they may be kept: a file of a chat is not sent again with each view of it.
    path("chat/<uuid:session_id>/artifacts/<filename:filename>", pane.artifact, name="artifact"),
    path("chat/<uuid:session_id>/documents/<filename:filename>", pane.document, name="document"),
    path("shared/<slug:token>/artifacts/<filename:filename>", pane.artifact, name="shared_artifact"),
    path("shared/<slug:token>/documents/<filename:filename>", pane.document, name="shared_document"),
    *(_page(page.route, page.view, page.name) for extension in extensions() for page in extension.pages()),
]

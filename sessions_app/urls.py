"""URL patterns of the chat pages. A project includes them at an address of its choice; `api/urls.py` has the API."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from sessions_app.chat import (
    answers,
    downloads,
    embedded_views,
    exports,
    files,
    frames,
    key_views,
    list_views,
    preferences,
    share_views,
    views,
)
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
app_name = "chat"
urlpatterns = [
    path("metrics", metrics, name="metrics"),
    path("", views.home, name="home"),
    path("start/", views.start, name="start"),
    path("preferences/", preferences.save_preferences, name="preferences"),
    path("keys/", key_views.keys, name="keys"),
    path("keys/<uuid:key_id>/revoke/", key_views.revoke, name="revoke_key"),
    path("chats/", list_views.session_list, name="list"),
    path("activity/", list_views.activity, name="activity"),
    path("chat/new/<str:app_name>/", views.new_session, name="new"),
    path("chat/<uuid:session_id>/", views.session_page, name="session"),
    path("embedded/<str:app_name>/", embedded_views.new_session, name="embedded_new"),
    path("embedded/<str:app_name>/<uuid:session_id>/", embedded_views.session_page, name="embedded"),
    path("chat/<uuid:session_id>/events/", views.earlier_events, name="events"),
    path("chat/<uuid:session_id>/events/alternatives/", views.alternatives, name="alternatives"),
    path("chat/<uuid:session_id>/events/<int:seq>/text/", answers.answer_text, name="answer_text"),
    path("chat/<uuid:session_id>/events/<int:seq>/feedback/", answers.feedback, name="feedback"),
    path("chat/<uuid:session_id>/frames/", frames.frames, name="frames"),
    path("chat/<uuid:session_id>/files/", files.files, name="files"),
    path("chat/<uuid:session_id>/files/remove/", files.remove_file, name="remove_file"),
    path("chat/<uuid:session_id>/preview/<filename:filename>", files.preview, name="preview"),
    path("chat/<uuid:session_id>/export/markdown/", exports.as_markdown, name="export_markdown"),
    path("chat/<uuid:session_id>/export/json/", exports.as_json, name="export_json"),
    path("chat/<uuid:session_id>/export/page/", exports.printable, name="export_page"),
    path("chat/<uuid:session_id>/share/", share_views.share, name="share"),
    path("chat/<uuid:session_id>/share/revoke/", share_views.revoke, name="revoke_share"),
    path("shared/<slug:token>/", share_views.shared_session, name="shared"),
    path("chat/<uuid:session_id>/<change:change>/", list_views.change_session, name="change"),
    path("chat/<uuid:session_id>/artifacts/<filename:filename>", downloads.artifact, name="artifact"),
]

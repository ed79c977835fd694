"""URL patterns of the HTTP API, and of the developer's page that uses it."""

from django.urls import include, path

from sessions_app.api.adk.adk_api import adk_api
from sessions_app.api.dev_ui import dev_ui
from sessions_app.api.site_api import site_api

DEV_UI = [path("", dev_ui, name="page"), path("<path:name>", dev_ui, name="file")]
urlpatterns = [
    path("api/v1/", site_api.urls),
    path("adk/", adk_api.urls),
    path("dev-ui/", include((DEV_UI, "dev-ui"))),
]

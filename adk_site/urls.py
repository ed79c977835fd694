"""URL configuration of the site."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path

from adk_site.sign_in import SignInView

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/login/", SignInView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    *([path("accounts/", include("adk_site.sso.urls"))] if settings.SSO_SERVER_URL else []),
    path("", include("sessions_app.api.urls")),
    path("", include("sessions_app.urls")),
]

"""Addresses for signing in with the provider, and pages for users whose sign-in was refused."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import include, path

from adk_site.sso.adapter import REFUSED


def refused(request: HttpRequest) -> HttpResponse:
    """Return the page with a link back to the sign-in."""
    return render(request, REFUSED, status=401)


urlpatterns = [
    path("", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("oidc/cancelled/", refused, name="socialaccount_login_cancelled"),
    path("oidc/inactive/", refused, name="account_inactive"),
]

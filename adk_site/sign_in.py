"""Sign-in page of the chat, and limits on sign-ins for the chat and the admin.

Two limits work together. django-axes counts wrong passwords by user name and client address, against guessing one
password. A rate by client network counts all sign-ins, against trying a common password with many names.
"""

import logging
import time
from datetime import timedelta
from http import HTTPStatus
from math import ceil
from typing import Any

from axes.backends import AxesStandaloneBackend
from axes.exceptions import AxesBackendPermissionDenied
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from adk_site.sso.settings import PROVIDER_ID
from sessions_app.base.client_address import client_network
from sessions_app.conf import conf
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates

logger = logging.getLogger(__name__)

NO_LIMIT = 2**31 - 1
NAME_LENGTH = 254
"""Longer than the longest user name, and within the column of django-axes."""
WRONG_PASSWORDS = gettext_noop("There were too many wrong passwords for this user name.")
FROM_ADDRESS = gettext_noop("There were too many sign-ins from your network.")


class SignInView(LoginView):
    """The sign-in page. It redirects to the start page if no page, or only the home page, was requested."""

    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the OpenID Connect provider, if the site has a provider."""
        sso_url = ""
        if settings.SSO_SERVER_URL:
            sso_url = reverse("openid_connect_login", args=[PROVIDER_ID])
        return super().get_context_data(**kwargs, sso_url=sso_url, sso_name=settings.SSO_NAME)

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs are of another version of Django
        """Return the requested address; empty for the start page."""
        address = super().get_redirect_url()
        return "" if address == reverse("chat:home") else address


class SignInBackend(AxesStandaloneBackend):  # type: ignore[misc]  # django-axes has no type hints
    """Refuse sign-ins that django-axes has locked, and those of a network with too many sign-ins."""

    def authenticate(
        self, request: HttpRequest, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> None:
        """Return None if the next backend may check the password.

        Raises:
            AxesBackendPermissionDenied: the sign-in is refused.
        """
        # First the lock: a locked sign-in does not count towards the rate.
        super().authenticate(request, username, password, **kwargs)
        exceeded = rates().count_now(quotas.sign_ins(client_network(request)))
        if exceeded is not None:
            request.axes_locked_out = True  # type: ignore[attr-defined]  # read by the middleware of django-axes
            request.sign_in_refusal = (FROM_ADDRESS, exceeded.seconds)  # type: ignore[attr-defined]
            raise AxesBackendPermissionDenied(FROM_ADDRESS)


def counted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str:
    """Return the user name for counting wrong passwords, cut to the length of the column."""
    name = (credentials or request.POST).get("username") or ""
    return str(name)[:NAME_LENGTH]


def failure_limit(request: HttpRequest, credentials: Any) -> int:
    """Return the number of wrong passwords after which sign-ins are locked."""
    return conf().sign_in_failures or NO_LIMIT


def lock_time(request: HttpRequest) -> timedelta:
    """Return the time for which sign-ins are locked after the last wrong password."""
    return timedelta(seconds=conf().sign_in_lock_seconds)


def counted_address(request: HttpRequest) -> str | None:
    """Return the address for counting wrong passwords; None without an address."""
    # The network, because one client may use many IPv6 addresses.
    return client_network(request) or None


def log_failed_sign_in(sender: Any, request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Log a failed sign-in, as a receiver of Django's signal, without the name: people type passwords there, too."""
    address = client_network(request) if request else "unknown"
    if getattr(request, "axes_locked_out", False):
        logger.warning("A sign-in from %s was refused: there were too many.", address)
    else:
        logger.warning("A sign-in from %s failed: the user name or the password was wrong.", address)


def locked_page(request: HttpRequest, *details: Any) -> HttpResponse:
    """Return the page that says when to try again."""
    reason, seconds = getattr(request, "sign_in_refusal", None) or (WRONG_PASSWORDS, _seconds_locked(request))
    context = {"reason": gettext(reason), "minutes": ceil(seconds / 60)}
    response = render(request, "registration/locked.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(ceil(seconds))
    return response


def _seconds_locked(request: HttpRequest) -> float:
    """Return the seconds until the wrong passwords no longer count."""
    handler = AxesProxyHandler.get_implementation()
    credentials = getattr(request, "axes_credentials", None)
    times = []
    for rows in handler.get_user_attempts(request, credentials):
        times += [row.attempt_time.timestamp() for row in rows]
    last = max(times, default=time.time())
    return max(1.0, last + conf().sign_in_lock_seconds - time.time())

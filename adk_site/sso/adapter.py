"""Accounts of users who sign in with the provider: only the provider's verified subject identifies an account."""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest
from django.shortcuts import render

REFUSED = "registration/sso_refused.html"


class VerifiedSubjectAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # django-allauth has no type hints
    """Match accounts by subject. A mail address never identifies an account, and is stored only if it is verified."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Refuse a response without an ID token, with two subjects, or for connecting another account.

        Raises:
            ImmediateHttpResponse: the response is refused.
        """
        claims = sociallogin.account.extra_data
        # The ID token is signed; the user info is not, so it must name the same subject.
        subjects = {part["sub"] for part in (claims.get("id_token"), claims.get("userinfo")) if part}
        is_connecting = sociallogin.state.get("process") not in (None, "login")
        if is_connecting or not claims.get("id_token") or len(subjects) != 1:
            raise ImmediateHttpResponse(render(request, REFUSED, status=401))
        # django-allauth would look for an account with one of these addresses.
        sociallogin.email_addresses = []

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Any:
        """Return the new account with the names given by the provider."""
        if not any(address.verified for address in sociallogin.email_addresses):
            data = {**data, "email": ""}
        return super().populate_user(request, sociallogin, data)

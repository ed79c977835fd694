"""Admin without the pages of django-allauth: a link changed there signs somebody in as another person, unrecorded."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin

admin.site.unregister([EmailAddress, SocialAccount, SocialApp, SocialToken])

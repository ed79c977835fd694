"""Remove django-allauth's pages from the admin: a link changed there signs a user in as another, without a record."""

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin

admin.site.unregister([EmailAddress, SocialAccount, SocialApp, SocialToken])

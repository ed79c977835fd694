"""Fixtures for tests of the audit admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Session
from tests.integration.admin.audit_rows import sign_in


@pytest.fixture
def person() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key="s-1", title="Broken lamp")


@pytest.fixture
def auditor(client: Client) -> Client:
    """A client signed in as staff with only the permission to view sessions."""
    return sign_in(client, "session")


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path

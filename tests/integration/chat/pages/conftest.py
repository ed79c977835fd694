"""A signed-in person with a session, and another person's session."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Session


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def browser_of_person(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key="s-1", title="Broken lamp")


@pytest.fixture
def session_of_another(db: None) -> Session:
    return Session.objects.create(
        app_name="help_desk", user=User.objects.create_user("eve"), key="s-2", title="Secret"
    )

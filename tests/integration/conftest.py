"""What tests of the Django side share: a person, and an end for what runs on a test's loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from sessions_app.lifecycle import shut_down


@pytest.fixture
async def loop_end() -> AsyncIterator[None]:
    """Ends invocations, listeners and pools of this test's loop."""
    yield
    await shut_down()


@pytest.fixture
def person(transactional_db: None) -> User:
    return get_user_model().objects.create_user("ada", password="secret")

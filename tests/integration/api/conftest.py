"""Fixtures of the API tests: keys, and clients that send them."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from sessions_app.models import ApiKey, Scope


def make_key(user: User, *scopes: str, **fields: Any) -> str:
    """Store a key of the user, with all scopes unless some are named; return it."""
    _, key = ApiKey.objects.all().make(user=user, name="test", scopes=[*(scopes or Scope.values)], **fields)
    return key


def with_key(key: str) -> Client:
    return Client(headers={"authorization": f"Bearer {key}"}, raise_request_exception=False)


class Program(AsyncClient):
    """A program that sends a key. Django's asynchronous client ignores the headers that it is made with."""

    def __init__(self, key: str) -> None:
        super().__init__(raise_request_exception=False)
        self.sent = {"authorization": f"Bearer {key}"}

    def generic(self, *args: Any, headers: Any = None, **kwargs: Any) -> Any:
        return super().generic(*args, headers={**self.sent, **(headers or {})}, **kwargs)


@pytest.fixture
async def program(person: User, loop_end: None) -> Program:
    """A program with a key of the person, with all scopes."""
    return Program(await sync_to_async(make_key)(person))


async def body_of(response: Any) -> bytes:
    """Return the body of a response, read to its end if it is streamed."""
    return b"".join([chunk async for chunk in response]) if response.streaming else bytes(response.content)

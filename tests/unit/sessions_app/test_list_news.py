"""Contract: a person's tabs are told of each change of the list, and of the activity at a bounded rate."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from sessions_app.live import list_news
from sessions_app.live.list_news import ListChange, ListNews


async def test_many_changes_of_the_activity_are_told_once_in_an_interval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(list_news, "ACTIVITY_SECONDS", 0.01)
    news = ListNews(Mock())
    told: asyncio.Queue[ListChange] = asyncio.Queue()
    news.watch(7, told.put_nowait)
    for interval in range(2):
        for _ in range(5):
            news.receive("7", ListChange.ACTIVITY)
        news.receive("8", ListChange.ACTIVITY)
        assert told.empty(), interval
        assert await told.get() is ListChange.ACTIVITY
        assert told.empty(), interval
    news.receive("7", ListChange.SESSIONS)
    news.receive("7", ListChange.SESSIONS)
    assert [told.get_nowait(), told.get_nowait()] == [ListChange.SESSIONS, ListChange.SESSIONS]

"""Updates of a task for A2A: its news as artifacts and states."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from a2a.types import TaskArtifactUpdateEvent, TaskStatusUpdateEvent

from sessions_app.api.tasks.task_feed import EventNews, ProgressNews, StateNews, TaskFeed, TextNews
from sessions_app.contrib.a2a.conversion import artifact_update, piece_update, status_update
from sessions_app.contrib.a2a.files import ArtifactMaker

TaskUpdate = TaskStatusUpdateEvent | TaskArtifactUpdateEvent


async def updates_of(feed: TaskFeed) -> AsyncGenerator[TaskUpdate, None]:
    """Yield the updates. The last update has the state of the task at rest."""
    async for news in feed.news():
        match news:
            case TextNews():
                # `append` is false for the first piece only: clients would drop the text before any other such piece.
                yield piece_update(feed.task, news.event_id, news.text, is_first=news.is_first)
            case EventNews(event=event):
                artifact = await ArtifactMaker(feed.task).of_event(event)
                if artifact is not None:
                    yield artifact_update(feed.task, artifact)
            case ProgressNews(line=line):
                yield status_update(feed.task, line)
            case StateNews():
                yield status_update(feed.task)

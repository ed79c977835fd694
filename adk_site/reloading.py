"""Reload of changed agents in every process of a development site: `ADK["reload_agents"]`.

The processes follow one after the other, so that none is sent work that it does not know yet: first those that run the
functions of job tools, then those that accept messages of Celery, last those that serve pages.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from celery import current_app, signals
from celery.app.trace import build_tracer

from sessions_app.agent_apps.reload import Reload, has_changes, reload_if_changed
from sessions_app.conf import conf

logger = logging.getLogger(__name__)
POLL_SECONDS = 0.3
MAIN_PROCESS_SECONDS, WEB_SECONDS = 0.5, 1.0
"""Pauses between a change and the reload."""


def reload_in_web_process() -> None:
    """Poll for changed agents in a thread, and log what was reloaded."""
    if conf().reload_agents:
        threading.Thread(target=_poll_in_web_process, name="reload agents", daemon=True).start()


def reload_in_workers() -> None:
    """Poll for changed agents in the Celery processes that this process becomes or starts."""
    signals.worker_ready.connect(_poll_in_main_process)
    signals.worker_process_init.connect(_poll_in_pool_process)


def _poll_in_web_process() -> None:
    while True:
        time.sleep(POLL_SECONDS)
        try:
            if has_changes():
                time.sleep(WEB_SECONDS)
                _log_reload(reload_if_changed())
        except Exception:  # the next poll tries again
            logger.exception("Changed agents cannot be reloaded")


def _log_reload(reload: Reload) -> None:
    for name in reload.reloaded:
        logger.info("%s was reloaded.", name)
    for problem in reload.problems:
        logger.error("%s", problem)
    for file in reload.restart_for:
        logger.warning("Restart the site for %s: other code than the agents imported it first.", file)


def _poll_in_main_process(sender: Any, **kwargs: Any) -> None:
    """Poll on the timer of the consumer: a process that forks must not hold locks of another thread."""

    def poll() -> None:
        if has_changes():
            sender.timer.call_after(MAIN_PROCESS_SECONDS, reload)

    def reload() -> None:
        if reload_if_changed().reloaded:
            sender.update_strategies()  # Celery accepts messages of these tasks only.

    if conf().reload_agents:
        sender.timer.call_repeatedly(POLL_SECONDS, poll)


def _poll_in_pool_process(sender: str, **kwargs: Any) -> None:
    if conf().reload_agents:
        threading.Thread(target=_poll_beside_tasks, args=(sender,), name="reload agents", daemon=True).start()


def _poll_beside_tasks(hostname: str) -> None:
    while True:
        try:
            if reload_if_changed().reloaded:
                _prepare_new_tasks(hostname)
        except Exception:  # the next poll tries again
            logger.exception("Changed agents cannot be reloaded")
        time.sleep(POLL_SECONDS)


def _prepare_new_tasks(hostname: str) -> None:
    """Build what Celery builds for each task when a pool process starts."""
    for name, task in list(current_app.tasks.items()):
        if task.__trace__ is None:
            task.__trace__ = build_tracer(name, task, current_app.loader, hostname, app=current_app)

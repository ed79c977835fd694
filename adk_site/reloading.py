"""Reload changed agents in every process of a development site (`ADK["reload_agents"]`).

The processes reload one after the other, so no process receives work that it does not know yet:

    pool process, runs job tools: immediately -> Celery's main process: 0.5 s -> web process: 1 s

The web process creates the work and is last; the pool processes, which run the work, are first.
"""

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
"""Pauses between the detection of a change and the reload."""


def reload_in_web_process() -> None:
    """Poll for changed agents in a thread, and log each reload."""
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
    """Poll on the timer of Celery's consumer."""

    def poll() -> None:
        if has_changes():
            sender.timer.call_after(MAIN_PROCESS_SECONDS, reload)

    def reload() -> None:
        if reload_if_changed().reloaded:
            sender.update_strategies()  # Celery accepts messages of these tasks only.

    # No thread here: this process forks, and a fork must not copy locks held by another thread.
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
    """Build the tracers that Celery builds for each task when a pool process starts."""
    # A copy, because a reload may register tasks during the loop.
    for name, task in list(current_app.tasks.items()):
        if task.__trace__ is None:
            task.__trace__ = build_tracer(name, task, current_app.loader, hostname, app=current_app)

"""View of the metrics for Prometheus.

It is open to requests with `metrics_token`, and to staff without a remit who may view invocations.
"""

import os
from typing import Any

from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from runtime.errors import how_to_install
from sessions_app.base.statuses import JobStatus, sql_list
from sessions_app.conf import conf
from sessions_app.models import Remit
from sessions_app.process.pool import fetch_all, get_pool, waiting_statements
from sessions_app.process.process_metrics import IS_AVAILABLE, drop_dead_processes
from sessions_app.process.threads import in_thread

if IS_AVAILABLE:
    from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Gauge, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

MISSING = f"Metrics need the package prometheus-client: {how_to_install('telemetry')}\n"
PERMISSION = "sessions_app.view_invocation"
_QUERY = f"""
SELECT
    (SELECT count(*) FROM sessions_app_invocation WHERE status = 'queued') AS queued,
    -- An invocation that has run before waits since its last attempt ended, or since somebody tried again.
    (SELECT coalesce(extract(epoch FROM now() - min(coalesce(
        (past_attempts -> -1 ->> 'retried_at')::timestamptz, (past_attempts -> -1 ->> 'ended_at')::timestamptz,
        created_at))), 0)::float8
     FROM sessions_app_invocation WHERE status = 'queued') AS age,
    (SELECT count(*) FROM sessions_app_invocation WHERE status = 'running') AS running,
    -- A job that has run before, such as one that has asked the person, waits since it was sent again.
    (SELECT coalesce(extract(epoch FROM now() - min(
        CASE attempts WHEN 0 THEN coalesce(run_at, created_at) ELSE coalesce(sent_at, now()) END)), 0)::float8
     FROM sessions_app_tooljob WHERE delivered_at IS NULL AND status = 'queued') AS job_age,
    (SELECT coalesce(jsonb_object_agg(status, jobs), '{{}}') FROM (
        SELECT status, count(*) AS jobs FROM sessions_app_tooljob
        WHERE delivered_at IS NULL AND status IN {sql_list(JobStatus.open())} GROUP BY status
    ) open) AS jobs"""  # noqa: S608


@require_safe
async def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of all processes of this machine, and of the database.

    Raises:
        PermissionDenied: the request has neither the token nor a user with the permission.
    """
    if not await _may_read(request):
        raise PermissionDenied
    if not IS_AVAILABLE:
        return HttpResponse(MISSING, status=501, content_type="text/plain")
    processes = REGISTRY
    # With this directory the metrics of all processes of the machine; without it, of the process that answers.
    if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        drop_dead_processes(folder)
        processes = CollectorRegistry()
        MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    text = generate_latest(processes) + generate_latest(await _of_database())
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


async def _may_read(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    # Without a token in the settings, an empty token must not open the metrics.
    if conf().metrics_token and constant_time_compare(given, conf().metrics_token):
        return True
    user = await request.auser()
    is_staff = getattr(user, "is_staff", False)
    if not (is_staff and isinstance(user, PermissionsMixin) and await user.ahas_perm(PERMISSION)):
        return False
    # The numbers count the work of all people.
    return not await in_thread(Remit.objects.of(user).exists)


async def _of_database() -> "CollectorRegistry":
    [row] = await fetch_all(_QUERY, {})
    registry = CollectorRegistry()
    _gauge(registry, "adk_queued_invocations", "Invocations that wait for their turn", row["queued"])
    _gauge(registry, "adk_queue_age_seconds", "Wait of the one that waits longest", max(row["age"], 0.0))
    _gauge(registry, "adk_running_invocations", "Invocations that run", row["running"])
    _gauge(registry, "adk_job_age_seconds", "Wait of the job that waits longest", max(row["job_age"], 0.0))
    by_status = Gauge("adk_jobs", "Open jobs", ["status"], registry=registry)
    for status in JobStatus.open():
        by_status.labels(status.value).set(row["jobs"].get(status, 0))
    pool = {**(await get_pool()).get_stats(), "requests_waiting": waiting_statements()}
    for name in ("pool_size", "pool_available", "requests_waiting"):
        _gauge(registry, f"adk_database_{name}", f"{name} of this process's pool", pool.get(name, 0))
    return registry


def _gauge(registry: Any, name: str, description: str, value: float) -> None:
    Gauge(name, description, registry=registry).set(value)

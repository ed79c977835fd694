"""Counts of this process for Prometheus. Without the package `prometheus-client` nothing is counted."""

import os
from pathlib import Path

from runtime.errors import how_to_install

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
    from prometheus_client.multiprocess import MultiProcessCollector
except ImportError:  # an extra: requirements-telemetry.txt
    IS_AVAILABLE = False
else:
    IS_AVAILABLE = True
    _invocations = Counter("adk_invocations", "Ended runs of invocations", ["outcome"])
    _take_overs = Counter("adk_lease_take_overs", "Invocations that another process had begun")
    _first_word = Histogram(
        "adk_first_word_seconds",
        "Time from the start of a model call to the first word of its answer",
        buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64),
    )
    _connections = Gauge("adk_connections", "Open sockets and event streams", multiprocess_mode="livesum")
    _swept_at = Gauge("adk_last_sweep_timestamp_seconds", "End of the last sweep", multiprocess_mode="max")


def count_invocation(outcome: str) -> None:
    """Count a run of an invocation that has ended."""
    if IS_AVAILABLE:
        _invocations.labels(outcome).inc()


def count_take_over() -> None:
    """Count an invocation taken over from a process that has died."""
    if IS_AVAILABLE:
        _take_overs.inc()


def observe_first_word(seconds: float) -> None:
    """Add the time to the first word of a model call."""
    if IS_AVAILABLE:
        _first_word.observe(seconds)


def add_connections(number: int) -> None:
    """Add a number of sockets and event streams: positive when opened, negative when closed."""
    if IS_AVAILABLE:
        _connections.inc(number)


def note_sweep() -> None:
    """Store the current time as the end of the last sweep."""
    if IS_AVAILABLE:
        _swept_at.set_to_current_time()


def serve_counts(port: int) -> None:
    """Serve the counts of all processes with this `PROMETHEUS_MULTIPROC_DIR` on a port, by a thread.

    Raises:
        RuntimeError: the package prometheus-client is missing.
        ValueError: there is no such directory.
    """
    if not IS_AVAILABLE:
        raise RuntimeError(f"METRICS_PORT needs the package prometheus-client: {how_to_install('telemetry')}")
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    start_http_server(port, registry=registry)


def drop_dead_processes(folder: str) -> None:
    """Delete the counts of open connections of ended processes.

    Args:
        folder: directory with the counts of all processes.
    """
    # A killed process leaves its open connections in the sum. Its counters stay: they count what has happened.
    for path in Path(folder).glob("gauge_live*_*.db"):
        pid = path.stem.rpartition("_")[2]
        if pid.isdecimal() and not _is_alive(int(pid)):
            path.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # Sends no signal.
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    return True

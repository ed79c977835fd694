"""`make chaos`: one long run. `python -m tests.chaos --seed 7` repeats the random choices of a run."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import traceback
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import environ

from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis
from tests.benchmarks.servers import bench_site
from tests.chaos.processes import SITES, Servers, Site
from tests.network import Network, NoNetworkError
from tests.network.servers import ListeningPostgres, listening_servers
from tests.stack.replica import replica_of

REPLICA_DELAY = "300ms"
"""How far the replica is behind, so staff read old rows."""


def main() -> int:
    """Run, print the report, and exit with 1 if a check failed.

    SIGTERM and SIGINT stop the run and all its processes.
    """
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.randrange(10_000))
    arguments.add_argument("--people", type=int, default=200)
    arguments.add_argument("--messages", type=int, default=5)
    arguments.add_argument("--kills", type=int, default=40)
    arguments.add_argument("--pause", type=float, default=3.0, help="mean seconds between two kills")
    arguments.add_argument(
        "--network",
        action="store_true",
        help="two sites, 20 ms and 1 %% of the packets from the servers; as root",
    )
    options = arguments.parse_args()
    # A shell starts a command in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    print(f"chaos, seed {options.seed}: started", flush=True)
    try:
        return _run(options)
    except KeyboardInterrupt:
        print(f"chaos, seed {options.seed}: stopped before its verdict", file=sys.stderr, flush=True)
        return 130
    except NoNetworkError as error:
        print(f"chaos, seed {options.seed}: {error}", file=sys.stderr, flush=True)
        return 1
    except Exception:
        print(f"chaos, seed {options.seed}: aborted", file=sys.stderr, flush=True)
        raise


def _interrupt(*_: object) -> None:
    """Take SIGTERM as SIGINT, for which asyncio ends the run in order."""
    signal.raise_signal(signal.SIGINT)


def _run(options: argparse.Namespace) -> int:
    os.environ["ADK_POSTGRES_FSYNC"] = "off"  # data of killed processes survives without fsync
    with ExitStack() as servers:
        servers.enter_context(bench_site("tests.chaos.settings"))
        from django.conf import settings

        from tests.chaos.run import run

        site = Site(settings.DATA_DIR, _servers(servers, settings.DATA_DIR, options.network))
        # This process has been set up with the first server alone.
        url = site.servers.variables["DATABASE_URL"]
        settings.DATABASES["default"].update(environ.Env.db_url_config(url))
        try:
            site.start()
            print(f"chaos, seed {options.seed}: the site runs in {settings.DATA_DIR}", flush=True)
            report = asyncio.run(
                run(
                    site,
                    seed=options.seed,
                    people=options.people,
                    messages=options.messages,
                    kills=options.kills,
                    pause=options.pause,
                )
            )
        except Exception:
            _keep_evidence(options.seed, traceback.format_exc(), settings.DATA_DIR)
            raise
        finally:
            # A second Ctrl-C must not leave the processes running.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            site.stop()
        if report.verdict.problems:
            evidence = "\n".join([str(report), *report.verdict.evidence])
            _keep_evidence(options.seed, evidence, settings.DATA_DIR)
    print(report, flush=True)
    return 1 if report.verdict.problems else 0


def _servers(at_end: ExitStack, data: Path, has_network: bool) -> Servers:
    """Start a replica of PostgreSQL; with a network, PostgreSQL and Redis also listen there."""
    make_replica = partial(replica_of, data, is_synchronous=True, delay=REPLICA_DELAY)
    if not has_network:
        return Servers(Postgres(data), at_end.enter_context(make_replica()), Redis(data), None)
    network = at_end.enter_context(Network(*SITES))
    postgres, redis = listening_servers(data, network)
    replica = at_end.enter_context(make_replica(server=partial(ListeningPostgres, address=network.replica)))
    return Servers(postgres, replica, redis, network)


def _keep_evidence(seed: int, evidence: str, data: Path) -> None:
    """Write the evidence and the logs of all processes to a file that outlives the run, and print its path."""
    logs = [f"--- {log.name}\n{log.read_text(errors='replace')}" for log in sorted(data.glob("*.log"))]
    path = Path(mkdtemp(prefix="adk-chaos-")) / f"seed-{seed}.txt"
    path.write_text("\n".join([evidence, *logs]))
    print(f"chaos, seed {seed}: evidence in {path}", flush=True)


sys.exit(main())

"""A streaming replica of an embedded PostgreSQL."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from adk_site.embedded.paths import make_private_dir, socket_dir
from adk_site.embedded.postgres import UNPRIVILEGED_USER, Postgres, postgres_url
from adk_site.embedded.server import run_program


@contextmanager
def replica_of(
    primary: Path,
    *,
    is_synchronous: bool = False,
    delay: str = "0",
    server: Callable[[Path], Postgres] = Postgres,
) -> Iterator[Postgres]:
    """Run a copy of the PostgreSQL of the data directory.

    Args:
        is_synchronous: True for a copy for whose disk the commits of the primary wait.
        delay: time after which a commit can be read from the copy.
        server: makes the server of the copy of its data directory.
    """
    with TemporaryDirectory() as directory:
        data = Path(directory)
        replica = server(data)
        source = [
            "-h",
            str(socket_dir(primary)),
            "-U",
            "postgres",
            "--write-recovery-conf",
            "--checkpoint=fast",
        ]
        cluster = data / "postgres"
        cluster.mkdir(mode=0o700)
        if os.getuid() == 0:
            shutil.chown(cluster, UNPRIVILEGED_USER)
        command = replica._command("pg_basebackup", "-D", str(cluster), *source)
        run_program(command, "Copying PostgreSQL", data / "postgres.log")
        with (cluster / "postgresql.auto.conf").open("a") as config:
            config.write(f"recovery_min_apply_delay = '{delay}'\n")
        make_private_dir(socket_dir(data))
        replica.start()
        try:
            if is_synchronous:
                with psycopg.connect(postgres_url(primary), autocommit=True) as connection:
                    connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                    connection.execute("SELECT pg_reload_conf()")
            yield replica
        finally:
            replica.stop()
            shutil.rmtree(socket_dir(data))


def wait_for_replica(primary: Path) -> None:
    """Wait until the synchronous replica has everything that can be read from the primary.

    It may lack some of it: a commit that waited for the replica when the primary crashed can be read after the restart,
    before the replica is connected again (PostgreSQL's documentation, "Planning for High Availability").
    """
    with psycopg.connect(postgres_url(primary), autocommit=True) as connection:
        (position,) = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone() or ("",)
        while connection.execute(_HAS_ALL, [position]).fetchone() is None:
            time.sleep(0.05)


_HAS_ALL = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND flush_lsn >= %s"


def url_of_both(primary: Path, replica: Path) -> str:
    """Return the URL by which a process finds whichever server accepts writes."""
    hosts = f"{socket_dir(primary)},{socket_dir(replica)}"
    return f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"

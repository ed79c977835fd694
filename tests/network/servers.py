"""PostgreSQL and Redis that can be reached at an address of the network, besides their Unix sockets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis
from tests.network import Network

REDIS_PORT = 6379


@dataclass(frozen=True)
class ListeningPostgres(Postgres):
    """PostgreSQL that listens at an address as well."""

    address: str

    def admit_sites(self) -> None:
        """Let the machines of the network connect, from the next start on; replicas made later let them, too."""
        with (self.data / "postgres" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 trust\n")

    def _options(self) -> list[str]:
        return [*super()._options(), "-c", f"listen_addresses={self.address}"]


@dataclass(frozen=True)
class ListeningRedis(Redis):
    """Redis that listens at an address as well."""

    address: str

    def _command(self) -> list[str]:
        options = {
            "port": str(REDIS_PORT),
            "bind": self.address,
            "protected-mode": "no",
            # As without a port: the servers of a data directory are found by it.
            "proc-title-template": "{title} unixsocket:{unixsocket}",
        }
        return [
            *super()._command(),
            *(word for name, value in options.items() for word in (f"--{name}", value)),
        ]


def listening_servers(data: Path, network: Network) -> tuple[ListeningPostgres, ListeningRedis]:
    """Start the servers of a data directory anew, so that the sites of a network reach them."""
    postgres = ListeningPostgres(data, network.primary)
    redis = ListeningRedis(data, network.redis)
    postgres.stop()
    redis.stop()
    postgres.admit_sites()
    postgres.start()
    redis.start()
    return postgres, redis


def url_of_postgres(network: Network) -> str:
    return f"postgresql://postgres@{network.primary}/postgres"


def url_of_redis(network: Network) -> str:
    return f"redis://{network.redis}:{REDIS_PORT}"

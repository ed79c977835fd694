"""`manage.py adk_seal`: write signed roots of all logs to a place outside of the database."""

import logging
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.db import connection

from sessions_app.errors import InvalidInputError
from sessions_app.history.evidence.root_file import load_private_key, storage_at
from sessions_app.history.evidence.sealing import seal
from sessions_app.management.site_command import SiteCommand

logger = logging.getLogger(__name__)


class Command(SiteCommand):
    """Write a root now, or one every so many minutes."""

    help = (
        "Write a signed root of all logs and records, by which adk_verify --against finds what was rewritten."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", required=True, help="a directory, or an alias of STORAGES")
        parser.add_argument("--key", required=True, type=Path, help="PEM file with the private Ed25519 key")
        parser.add_argument("--every", type=float, default=0.0, metavar="MINUTES", help="go on until stopped")

    def handle(self, *args: Any, to: str, key: Path, every: float, **options: Any) -> None:
        """Write one line for each root. A root that fails is tried again after the interval."""
        storage = storage_at(to)
        private_key = load_private_key(key)
        while True:
            try:
                for root in seal(storage, private_key):
                    self.stdout.write(f"Root {root.number}: {len(root.rows)} rows, SHA-256 {root.sha256}")
            except InvalidInputError:  # A root is forged: none may be added to it.
                raise
            except (
                Exception
            ):  # Clients of storages raise various errors, which the next attempt may not have.
                if not every:
                    raise
                logger.exception("No root was written; the next attempt follows in %s minutes", every)
            if not every:
                return
            connection.close()
            time.sleep(every * 60)

"""`python -m adk_site.web`: Daphne with its usual arguments, on uvloop, which uses less CPU than asyncio's loop."""

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]

# Imported after the reactor is installed: Daphne installs its own if there is none.
from daphne.cli import CommandLineInterface  # noqa: E402

if __name__ == "__main__":
    CommandLineInterface.entrypoint()

"""`python -m adk_site.web`: Daphne, with Daphne's arguments, on uvloop, which takes less CPU for the same work."""

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]

# Daphne takes the reactor that is there, or makes one.
from daphne.cli import CommandLineInterface  # noqa: E402

if __name__ == "__main__":
    CommandLineInterface.entrypoint()

"""Where the site listens: `HOST` and `PORT`."""

import errno
import os
import socket
from dataclasses import dataclass

from adk_site.dev.errors import StackError

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared with, not bound)


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @property
    def url(self) -> str:
        """What a person on this machine types."""
        host = "127.0.0.1" if self.host in EVERYWHERE else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def check_is_free(self) -> None:
        """Raises StackError where the site could not listen."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            socket.create_server((self.host, self.port), family=family).close()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise StackError(
                    f"Port {self.port} on {self.host} is taken by another program: "
                    f"choose another one, for example `make run PORT={self.port + 1}`."
                ) from error
            raise StackError(
                f"Cannot listen on HOST={self.host} PORT={self.port}: {error.strerror}."
            ) from error


def address_from_environment() -> Address:
    """The address that `HOST` and `PORT` choose, 127.0.0.1:8000 without them.

    Raises:
        StackError: `PORT` is not the number of a port.
    """
    port = os.environ.get("PORT") or "8000"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise StackError(f"PORT={port} is not a number from 1 to 65535.")
    return Address(os.environ.get("HOST") or "127.0.0.1", int(port))

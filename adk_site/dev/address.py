"""Address of the development site, from `HOST` and `PORT`."""

import errno
import os
import socket
from dataclasses import dataclass

ALL_INTERFACES = ("0.0.0.0", "::")  # noqa: S104 (compared with, not bound)


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    @property
    def url(self) -> str:
        """URL for a browser on this machine."""
        host = "127.0.0.1" if self.host in ALL_INTERFACES else self.host
        if ":" in host:
            host = f"[{host}]"
        return f"http://{host}:{self.port}/"

    def check_is_free(self) -> None:
        """Raise `StackError` if the site cannot listen on this address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # Checked before the start: Daphne would fail later, in the middle of the output of all processes.
        try:
            socket.create_server((self.host, self.port), family=family).close()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise StackError(
                    f"Port {self.port} on {self.host} is in use by another program: "
                    f"choose another port, for example `make run PORT={self.port + 1}`."
                ) from error
            raise StackError(
                f"Cannot listen on HOST={self.host} PORT={self.port}: {error.strerror}."
            ) from error


def address_from_environment() -> Address:
    """Return the address in `HOST` and `PORT`; the default is 127.0.0.1:8000.

    Raises:
        StackError: `PORT` is not a port number.
    """
    port = os.environ.get("PORT") or "8000"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise StackError(f"PORT={port} is not a number from 1 to 65535: set PORT to a free port.")
    return Address(os.environ.get("HOST") or "127.0.0.1", int(port))


class StackError(Exception):
    """The site cannot start or keep running; the message names the cause and the remedy."""

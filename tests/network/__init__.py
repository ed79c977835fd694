"""Machines of a network on this one: sites in namespaces of the kernel, and the database side in the tests' own.

Each site has a device, through which it reaches the addresses of this side. A packet that a site sends is read from its
device by `tests.network.packets` and written to the device of its receiver: to and from a database or Redis only after
`DELAY_SECONDS`, if it was not lost. TCP and all above it are real. The kernel's own `netem` is not always there.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fcntl import ioctl
from struct import pack
from types import TracebackType

from adk_site.embedded.paths import CHECKOUT

DELAY_SECONDS = 0.01
"""Time that a packet takes from a site to a database or back, so a round trip takes twice as long."""
LOSS = 0.01
"""Part of the packets in each direction that are lost."""
NAMESPACE = "TEST_NETWORK_NAMESPACE"
"""Environment variable: the namespace in which a forked program runs."""
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000


class NoNetworkError(Exception):
    """This machine does not let the tests make a network; the message says why in a sentence."""


class Network:
    """Sites and the database side. A context manager: the namespaces are made on entry, and removed on exit.

    Attributes:
        people: address of this side for people and models, who are near the sites: without delay and loss.
        primary: address of the first PostgreSQL.
        replica: address of its replica.
        redis: address of Redis.
        sites: address of each site by its name.
    """

    def __init__(self, *sites: str) -> None:
        number = 64 + os.getpid() % 64  # so that two runs can work at once
        self._all = f"10.{number}.0.0/16"
        self.people, self.primary, self.replica, self.redis = (
            f"10.{number}.0.{host}" for host in range(1, 5)
        )
        self.sites = {site: f"10.{number}.1.{host}" for host, site in enumerate(sites, 1)}
        self._at_end = ExitStack()

    def namespace(self, site: str) -> str:
        """Return the name of the site's namespace."""
        return f"adk{os.getpid()}-{site}"

    def cut_off(self, address: str) -> None:
        """Lose all packets to and from this address from now on, as if its machine had no power."""
        self._command("cut", address)

    def connect(self, address: str) -> None:
        """Let packets to and from this address pass again."""
        self._command("connect", address)

    def delay(self, seconds: float) -> None:
        """Let each packet to and from the servers take this time from now on."""
        self._command("delay", str(seconds))

    def __enter__(self) -> Network:
        with self._at_end:
            self._make()
            self._at_end = self._at_end.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._at_end.close()

    def _make(self) -> None:
        device = f"adk{os.getpid()}"
        here = [self.people, self.primary, self.replica, self.redis]
        devices = [self._device(device)]
        self._set_up([], device, here)
        for number, (site, address) in enumerate(self.sites.items()):
            namespace = self.namespace(site)
            _ip("netns", "add", namespace)
            self._at_end.callback(_ip, "netns", "delete", namespace)
            devices.append(self._device(f"{device}-{number}"))
            _ip("link", "set", f"{device}-{number}", "netns", namespace)
            self._set_up(["-n", namespace], f"{device}-{number}", [address])
        distant = [self.primary, self.replica, self.redis]
        command = [sys.executable, "-m", "tests.network.packets", ",".join(distant), str(devices[0])]
        command += [f"{site}={device}" for site, device in zip(self.sites.values(), devices[1:], strict=True)]
        self._packets = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            pass_fds=devices,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C ends the run, which still needs the network then
        )
        self._at_end.callback(self._end_packets)

    def _device(self, name: str) -> int:
        """Make a network device whose packets this process reads and writes."""
        try:
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            self._at_end.callback(os.close, device)
            ioctl(device, TUNSETIFF, pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
        except OSError as error:
            raise NoNetworkError(
                f"A network of several sites needs /dev/net/tun and the rights of root: {error.strerror}."
            ) from error
        return device

    def _set_up(self, namespace: Sequence[str], device: str, addresses: Sequence[str]) -> None:
        for address in addresses:
            _ip(*namespace, "address", "add", f"{address}/32", "dev", device)
        _ip(*namespace, "link", "set", "lo", "up")
        _ip(*namespace, "link", "set", device, "up")
        _ip(*namespace, "route", "add", self._all, "dev", device, "src", addresses[0])

    def _command(self, what: str, value: str) -> None:
        assert self._packets.stdin and self._packets.stdout
        self._packets.stdin.write(f"{what} {value}\n")
        self._packets.stdin.flush()
        assert self._packets.stdout.readline() == "done\n", "the network has ended"

    def _end_packets(self) -> None:
        self._packets.communicate()


@contextmanager
def separate_network() -> Iterator[None]:
    """Give this thread and all that it starts a network without other devices; afterwards the thread has its own again.

    Without it a `Network` is a change of the machine's network, and browsers break off all requests at each change.
    """
    with open("/proc/thread-self/ns/net") as own:
        try:
            _call_libc("unshare", CLONE_NEWNET)
        except OSError as error:
            raise NoNetworkError(f"A separate network needs the rights of root: {error.strerror}.") from error
        try:
            yield
        finally:
            _call_libc("setns", own.fileno(), CLONE_NEWNET)


def enter_namespace(name: str) -> None:
    """Let all further connections of this process and its children use the network of a namespace."""
    with open(f"/run/netns/{name}") as namespace:
        _call_libc("setns", namespace.fileno(), CLONE_NEWNET)


def _call_libc(function: str, *arguments: int) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _ip(*arguments: str) -> None:
    try:
        subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise NoNetworkError("A network of several sites needs the program ip (Debian: iproute2).") from error
    except subprocess.CalledProcessError as error:
        raise NoNetworkError(f"The network could not be made: {error.stderr.strip()}") from error

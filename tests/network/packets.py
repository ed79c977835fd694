"""The links of a `Network`: `python -m tests.network.packets DISTANT HERE SITE=DEVICE …`, until its input is closed.

DISTANT are the addresses with delay and loss, HERE is the file of this side's device, and DEVICE that of a site's.
A line `cut ADDRESS`, `connect ADDRESS` or `delay SECONDS` is answered with `done`.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from collections import deque
from contextlib import suppress
from ipaddress import IPv4Address

from tests.network import DELAY_SECONDS, LOSS

MAX_PACKET_BYTES = 65_536
SEED = 37


class Links:
    """Passes on packets between the devices."""

    def __init__(self, distant: set[bytes], here: int, sites: dict[bytes, int]) -> None:
        self._distant, self._here, self._sites = distant, here, sites
        self._cut: set[bytes] = set()
        self._on_the_way: deque[tuple[float, int, bytes]] = deque()
        self._random = random.Random(SEED)
        self._delay = DELAY_SECONDS

    def run(self) -> None:
        """Pass on packets until the standard input is closed."""
        devices = [self._here, *self._sites.values()]
        while True:
            wait = None
            if self._on_the_way:
                wait = max(0.0, self._on_the_way[0][0] - time.monotonic())
            readable, _, _ = select.select([*devices, sys.stdin.fileno()], [], [], wait)
            if sys.stdin.fileno() in readable and not self._obey(sys.stdin.readline()):
                return
            for device in set(devices) & set(readable):
                self._read(device)
            while self._on_the_way and self._on_the_way[0][0] <= time.monotonic():
                _, device, packet = self._on_the_way.popleft()
                _write(device, packet)

    def _obey(self, line: str) -> bool:
        """Do what the line says; return False when there are no more lines."""
        what, _, value = line.strip().partition(" ")
        match what:
            case "cut":
                self._cut.add(IPv4Address(value).packed)
            case "connect":
                self._cut.remove(IPv4Address(value).packed)
            case "delay":
                self._delay = float(value)
            case _:
                return False
        print("done", flush=True)
        return True

    def _read(self, device: int) -> None:
        with suppress(BlockingIOError):
            while packet := os.read(device, MAX_PACKET_BYTES):
                if packet[0] >> 4 == 4:
                    self._pass_on(packet)

    def _pass_on(self, packet: bytes) -> None:
        ends = {packet[12:16], packet[16:20]}  # addresses of sender and receiver
        receiver = self._sites.get(packet[16:20], self._here)
        if ends & self._cut:
            return
        if not ends & self._distant:
            _write(receiver, packet)
        elif self._random.random() >= LOSS:
            self._on_the_way.append((time.monotonic() + self._delay, receiver, packet))


def _write(device: int, packet: bytes) -> None:
    with suppress(OSError):  # the receiver's queue is full, or its namespace is gone
        os.write(device, packet)


def main() -> None:
    distant, here, *sites = sys.argv[1:]
    devices = dict(site.split("=") for site in sites)
    Links(
        {IPv4Address(address).packed for address in distant.split(",")},
        int(here),
        {IPv4Address(address).packed: int(device) for address, device in devices.items()},
    ).run()


if __name__ == "__main__":
    main()

"""A proxy in front of a site that lets no websocket through, and that a test can cut."""

from __future__ import annotations

import asyncio
import threading
from typing import Literal

HANDSHAKE = b"upgrade: websocket"
REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Treatment = Literal["refuse", "swallow", "pass"]


class BlockingProxy:
    """Proxy on a port of its own. A context manager: starts on entry, stops on exit.

    Attributes:
        sockets: what happens to the handshake of a websocket: an error, no answer at all, or it is passed on.
    """

    def __init__(self, site_port: int) -> None:
        self.sockets: Treatment = "refuse"
        self._site_port = site_port
        self._is_cut = False
        self._open: set[asyncio.StreamWriter] = set()
        self._handling: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._break_all)

    def restore(self) -> None:
        """Accept connections again."""
        self._is_cut = False

    def __enter__(self) -> BlockingProxy:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)))
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._start_handling, "127.0.0.1")
        self._port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stopping.wait()
        server.close()
        self._break_all()
        await asyncio.gather(*self._handling)

    def _break_all(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    def _start_handling(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._handle(reader, writer))
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site_reader, site_writer = await asyncio.open_connection("127.0.0.1", self._site_port)
        ends = {writer, site_writer}
        if self._is_cut:
            for end in ends:
                end.transport.abort()
            return
        self._open |= ends
        passing = [
            asyncio.create_task(self._pass_on(reader, writer, site_writer)),
            asyncio.create_task(self._copy(site_reader, writer)),
        ]
        await asyncio.wait(passing[:1])
        passing[1].cancel()
        ended = await asyncio.gather(*passing, return_exceptions=True)
        self._open -= ends
        for end in ends:
            end.transport.abort()
        for error in ended:  # a browser or the site that breaks its connection is an ordinary end of both
            if isinstance(error, Exception) and not isinstance(error, ConnectionError):
                raise error

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, site: asyncio.StreamWriter
    ) -> None:
        """Pass on what the browser sends, until a handshake of a websocket or the end."""
        while data := await reader.read(65536):
            if self.sockets != "pass" and HANDSHAKE in data.lower():
                if self.sockets == "refuse":
                    writer.write(REFUSAL)
                    await writer.drain()
                    return
                await reader.read()  # until the browser gives up
                return
            site.write(data)
            await site.drain()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

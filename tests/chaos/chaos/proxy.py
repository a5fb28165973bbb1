"""A TCP proxy before the server's unix socket, one a host, that spoils what it carries."""

import asyncio
import socket
import struct
import threading

CHUNK = 64 * 1024


class Network:
    """The event loop of all proxies, in a thread of its own."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def close(self):
        async def cancel_all():
            for task in asyncio.all_tasks():
                if task is not asyncio.current_task():
                    task.cancel()

        self.run(cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


class Link:
    """One connection through a proxy: what the host has and what the server has."""

    def __init__(self, client, server):
        self.client = client
        self.server = server
        # The connection that listens is the host's control connection.
        self.listens = False

    def reset(self):
        """A reset instead of an orderly end, as from a peer that forgot the connection."""
        own = self.client.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.client.transport.abort()
        self.server.transport.abort()


class Proxy:
    """Where a host connects to. Every method may be called from any thread."""

    def __init__(self, network, server_socket):
        self._network = network
        self._server_socket = server_socket
        self._links = set()
        self._delay = 0.0
        self._holes = ()
        self.port = network.run(self._listen())

    async def _listen(self):
        self._open = asyncio.Event()
        self._open.set()
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self._listener.sockets[0].getsockname()[1]

    async def _accept(self, from_client, to_client):
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._server_socket)
        except OSError:
            to_client.transport.abort()
            return
        link = Link(to_client, to_server)
        self._links.add(link)
        try:
            await asyncio.gather(
                self._carry(link, from_client, to_server, outward=True),
                self._carry(link, from_server, to_client, outward=False),
            )
        finally:
            self._links.discard(link)

    def _swallows(self, link):
        return "all" in self._holes or ("work" in self._holes and not link.listens)

    async def _carry(self, link, reader, writer, outward):
        """What lies in a hole when it is closed arrives late, after its sender gave up."""
        try:
            while data := await reader.read(CHUNK):
                if outward and b'listen "pgflow_q_' in data:
                    link.listens = True
                while self._swallows(link):
                    await self._open.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()

    async def _set(self, delay, holes):
        self._delay = delay
        self._holes = holes
        if holes:
            self._open.clear()
        else:
            self._open.set()

    def delay(self, seconds):
        self._network.run(self._set(seconds, ()))

    def swallow(self, what):
        """Carry nothing more of "all" connections, or of the "work" connections only."""
        self._network.run(self._set(0.0, (what,)))

    def heal(self):
        self._network.run(self._set(0.0, ()))

    def reset(self):
        """Reset every connection; gives their number."""

        async def all_links():
            links = list(self._links)
            for link in links:
                link.reset()
            return len(links)

        return self._network.run(all_links())

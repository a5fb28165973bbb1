"""A TCP proxy before the server's unix socket, one a host, that spoils what it carries."""

import asyncio
import socket
import struct
import threading

CHUNK = 64 * 1024
# SSL request, start-up packet, greeting; and some calls, to be sure.
GREETING_PIECES = 6


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
        self.sent = 0  # pieces from the host
        self.swallowed = False

    def is_work(self):
        """Up, and not the control connection: it has gone past its greeting."""
        return not self.listens and self.sent >= GREETING_PIECES

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
        self._hole = False
        self.port = network.run(self._listen())

    async def _listen(self):
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

    async def _carry(self, link, reader, writer, outward):
        """What lies in a hole when it is closed arrives late, after its sender gave up."""
        try:
            while data := await reader.read(CHUNK):
                link.sent += outward
                if outward and b'listen "pgflow_q_' in data:
                    link.listens = True
                while self._hole or link.swallowed:
                    await asyncio.sleep(0.02)
                if self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()

    def delay(self, seconds):
        async def set_delay():
            self._delay = seconds

        self._network.run(set_delay())

    def swallow_all(self, swallows):
        """Carry nothing of any connection, new ones included, until told otherwise."""

        async def set_hole():
            self._hole = swallows

        self._network.run(set_hole())

    def swallow_work(self):
        """Carry nothing more of the work connection that is up now; gives it, or None when none is."""

        async def swallow():
            listening = any(link.listens for link in self._links)
            found = next((link for link in self._links if listening and link.is_work()), None)
            if found:
                found.swallowed = True
            return found

        return self._network.run(swallow())

    def reset(self):
        """Reset every connection; gives their number."""

        async def all_links():
            links = list(self._links)
            for link in links:
                link.reset()
            return len(links)

        return self._network.run(all_links())

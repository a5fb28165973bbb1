"""An HTTP server that takes alerts as a webhook does, and answers as it is told."""

import http.server
import json
import threading


class Webhook:
    """Listens on 127.0.0.1; keeps what was posted. `answers` are used up in order, then it is 200."""

    SECRET = "T0SECRET-path"

    def __init__(self, *answers):
        self.posts = []
        self._answers = list(answers)
        self._lock = threading.Lock()
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers = webhook.take(self.path, self.headers, json.loads(body))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": "0"}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/services/{self.SECRET}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def take(self, path, headers, body):
        with self._lock:
            self.posts.append((path, headers["Idempotency-Key"], headers["Content-Type"], body["text"]))
            return self._answers.pop(0) if self._answers else (200, {})

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

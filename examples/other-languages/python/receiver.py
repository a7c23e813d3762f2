"""Receives the webhooks on a port: LOYALTY_SIGNING_SECRET=… PORT=3000 python3 receiver.py"""

# #region receiver
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from loyalty_webhook import Rejected, verify

# Two during a rotation, separated by a comma.
secrets = os.environ["LOYALTY_SIGNING_SECRET"].encode().split(b",")


class Webhooks(BaseHTTPRequestHandler):
    def handle(self):
        # The request must arrive within ten seconds: then reading ends.
        end = (self.connection.shutdown, [socket.SHUT_RD])
        timer = threading.Timer(10, *end)
        timer.start()
        try:
            super().handle()
        finally:
            timer.cancel()

    def do_POST(self):
        try:
            length = int(self.headers.get("content-length", ""))
        except ValueError:
            return self.respond(411)
        if not 0 <= length <= 1024 * 1024:
            return self.respond(413)
        # The bytes: not parsed, not decoded.
        body = self.rfile.read(length)
        if len(body) < length:
            return self.respond(408)
        lines = self.headers.get_all("service-signature", [])
        try:
            event = verify(body, ", ".join(lines), secrets)
        except Rejected as rejected:
            self.log_message("rejected a webhook: %s", rejected)
            return self.respond(401)
        store(event)
        self.respond(204)

    def respond(self, status):
        self.send_response(status)
        self.end_headers()


def store(event):
    # Insert event["id"] into a table with a unique key,
    # and ignore a duplicate.
    print(event["type"], event["id"], flush=True)


address = ("127.0.0.1", int(os.environ["PORT"]))
ThreadingHTTPServer(address, Webhooks).serve_forever()
# #endregion

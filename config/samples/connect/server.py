"""Serves a search function in Assay's protocol, with the standard library alone:

    python3 server.py langchain_search:search

The function is search(query, top_k, metadata). It gives dictionaries with "id",
and "document", "text" and "score" where it has them, best first.
"""
import importlib
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST_BYTES = 1 << 20


def read(body):
    question = json.loads(body)
    query, top_k = question["query"], question["top_k"]
    if not isinstance(query, str) or type(top_k) is not int or top_k < 1:
        raise ValueError('"query" must be a text and "top_k" a whole number above 0')
    return query, top_k, question.get("metadata") or {}


def handler(search):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_GET(self):
            self.send(*((200, {"status": "ok"}) if self.path == "/healthz" else (404, {"error": "ask POST /search"})))

        def do_POST(self):
            length = int(self.headers.get("Content-Length") or 0)
            if self.path != "/search" or length > MOST_BYTES:
                self.close_connection = True
                return self.send(404 if length <= MOST_BYTES else 413, {"error": "ask POST /search, with at most 1 MiB"})
            body = self.rfile.read(length)
            try:
                question = read(body)
            except (KeyError, TypeError, ValueError) as error:
                return self.send(400, {"error": f"{type(error).__name__}: {error}"})
            try:
                self.send(200, {"results": list(search(*question))})
            except Exception as error:  # an outage, and no empty list, which would score 0
                self.log_error("%r", error)
                self.send(500, {"error": f"{type(error).__name__}: {error}"})

        def send(self, status, reply):
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    sys.path.insert(0, os.getcwd())
    function = getattr(importlib.import_module(module), name or "search")
    address = (os.environ.get("HOST", "0.0.0.0"), int(os.environ.get("PORT", "8080")))
    server = ThreadingHTTPServer(address, handler(function))
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()

"""Stands in for Tempo or Grafana: reads its config as the real one would, listens, says it is ready, ends on SIGTERM.

Run as PROGRAM [server] -config.file=FILE or --config=FILE. A file `die` beside the config makes it end at once.
"""

import configparser
import http.server
import os
import signal
import sys
import threading
from pathlib import Path

import yaml

if {"--version", "-version", "-v"} & set(sys.argv):
    print(os.environ.get("FAKE_VERSION", "fake, version 2.9.2"))
    sys.exit(0)

GIVEN = ("-config.file=", "--config.file=", "--config=")
config = Path(next(one.partition("=")[2] for one in sys.argv if one.startswith(GIVEN)))
if (config.parent / "die").exists():
    print("cannot: a file called die is here", flush=True)
    sys.exit(7)
if config.suffix == ".yaml":
    server = yaml.safe_load(config.read_text())["server"]
    where = (server["http_listen_address"], server["http_listen_port"])
else:
    ini = configparser.ConfigParser(interpolation=None)
    ini.read(config)
    where = (ini["server"]["http_addr"], ini["server"].getint("http_port"))


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        known = self.path in ("/ready", "/api/health")
        self.send_response(200 if known else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def end(*_: object) -> None:
    (config.parent / "ended").write_text("by SIGTERM")
    os._exit(0)


class Traces(Answer):
    """Tempo's other door: notes that something came."""

    def do_POST(self) -> None:
        (config.parent / "came").write_text(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


signal.signal(signal.SIGTERM, end)
if config.suffix == ".yaml":
    receiver = yaml.safe_load(config.read_text())["distributor"]["receivers"]["otlp"]["protocols"]["http"]["endpoint"]
    host, _, port = receiver.rpartition(":")
    threading.Thread(target=http.server.ThreadingHTTPServer((host, int(port)), Traces).serve_forever).start()
http.server.ThreadingHTTPServer(where, Answer).serve_forever()

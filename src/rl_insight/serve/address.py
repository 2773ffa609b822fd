"""Where a server is found, and that a data folder has only one: `lock` and `server.json` in the data folder.

Commands and recorders on the same machine read these, so this module imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Address(msgspec.Struct):
    """What `server.json` says about the server that owns a data folder."""

    pid: int
    url: str
    host: str
    port: int
    version: str
    started: int
    token: bool = False


class InUse(RuntimeError):
    """Another server or command owns the data folder."""


def write(data_dir: Path, address: Address) -> None:
    fresh = data_dir / "server.json.new"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(address)) + b"\n")
    fresh.replace(data_dir / "server.json")


def remove(data_dir: Path) -> None:
    """Take `server.json` away, unless another process has written its own."""
    address = read(data_dir)
    if address is not None and address.pid == os.getpid():
        (data_dir / "server.json").unlink(missing_ok=True)


def read(data_dir: Path) -> Address | None:
    """What `server.json` says; the server may have died since."""
    try:
        return msgspec.json.decode((data_dir / "server.json").read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def token(data_dir: Path) -> str:
    """The token for the server of this data folder: the environment's, else the file's."""
    given = os.environ.get("RL_INSIGHT_TOKEN", "")
    if given:
        return given
    try:
        return (data_dir / "token").read_text().strip()
    except OSError:
        return ""


def local_host(address: Address) -> str:
    """Where the server is found from this machine: a wildcard bind listens on loopback too."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(address.host, address.host)


def local_url(address: Address) -> str:
    """The server's URL for commands on this machine, which need no name to be resolved."""
    host = local_host(address)
    return f"http://[{host}]:{address.port}" if ":" in host else f"http://{host}:{address.port}"


def healthy(address: Address, timeout: float = 2.0) -> bool:
    """Whether a server answers at the address."""
    connection = http.client.HTTPConnection(local_host(address), address.port, timeout=timeout)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_locked(data_dir: Path) -> bool:
    """Whether a living process owns the data folder."""
    try:
        with locked(data_dir, wait=0.0, create=False):
            return False
    except FileNotFoundError:
        return False
    except InUse:
        return True


@contextlib.contextmanager
def locked(data_dir: Path, *, wait: float = 1.0, create: bool = True) -> Iterator[None]:
    """Own the data folder for a while. The kernel lets go when the process ends, however it ends."""
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    descriptor = os.open(data_dir / "lock", flags, 0o600)
    try:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise InUse(_who(data_dir)) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _who(data_dir: Path) -> str:
    address = read(data_dir)
    owner = f"the server at {address.url} (pid {address.pid})" if address else "another rl-insight command"
    return (
        f"{data_dir} is in use by {owner}; stop it with 'rl-insight server stop --data-dir {data_dir}', "
        "or choose another folder with --data-dir"
    )

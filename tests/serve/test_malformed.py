"""Whatever is sent, the collector answers, and goes on living."""

import gzip
import json
import random
import socket
from collections.abc import Iterator

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness import Server, batch, encode, gauge_line, process_line, running_server

KINDS = ["process", "count", "gauge", "sample", "span", "open", "log", "fact", "lost"]
FIELDS = ["kind", "proc", "seq", "ts", "name", "run", "schema", "value", "labels", "step", "dur", "id", "level"]
FIELDS += ["tags", "attrs", "count", "reason", "v", "try", "status", "state", "parent"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**62, 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(KINDS),
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)
nearly_lines = st.dictionaries(st.sampled_from(FIELDS), anything, max_size=8)
good_line = encode(process_line("fuzz")) + encode(gauge_line("fuzz", 2))


@st.composite
def damaged_batches(draw: st.DrawFn) -> bytes:
    body = bytearray(good_line)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 5))] = draw(st.binary(max_size=3))
    return bytes(body)


bodies = st.one_of(
    st.binary(max_size=200),
    damaged_batches(),
    anything.map(lambda value: json.dumps(value).encode() + b"\n"),
    st.lists(nearly_lines, max_size=3).map(lambda lines: b"".join(json.dumps(x).encode() + b"\n" for x in lines)),
)
encodings = st.sampled_from(["identity"] * 6 + ["gzip", "zstd", "gzip-lie", "zstd-lie", "br"])


def packed(body: bytes, encoding: str) -> tuple[bytes, str]:
    if encoding == "gzip":
        return gzip.compress(body, 1), "gzip"
    if encoding == "zstd":
        return zstandard.ZstdCompressor().compress(body), "zstd"
    return body, encoding.removesuffix("-lie")


def mangled(body: bytes, seed: int) -> Iterator[bytes]:
    """A body, and four that went wrong on the way."""
    yield body
    chance = random.Random(seed)
    at, to = sorted(chance.choices(range(len(body) + 1), k=2))
    yield body[:at] + body[to:]
    yield body[:at] + body[at:to] * 2 + body[to:]
    yield body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
    yield body[:to]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("fuzz") / "data") as server:
        yield server


def test_ten_thousand_malformed_bodies_are_all_answered(fuzzed: Server) -> None:
    connection = fuzzed.connect()
    answers = {200: 0, 400: 0, 415: 0}

    @settings(max_examples=2_000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(bodies, encodings, st.integers(0, 2**32))
    @example(b"", "identity", 0)
    @example(b"\n", "identity", 0)
    @example(b"\n" * 1000, "identity", 0)
    @example(b"[" * 100_000 + b"\n", "identity", 0)
    @example(b'{"a":' * 50_000 + b"\n", "identity", 0)
    @example(b"", "zstd-lie", 0)
    @example(b"\x00" * 1000, "identity", 0)
    @example(b'{"kind":"gauge","proc":"fuzz","seq":1,"ts":1,"name":"\\ud800","value":1}\n', "identity", 0)
    @example(b'{"kind":"gauge","proc":"fuzz","seq":1,"ts":1,"name":"a\\u0000b","value":1}\n', "identity", 0)
    @example(b'{"kind":"gauge","proc":"fuzz","seq":1,"ts":1,"name":"x","value":NaN}\n', "identity", 0)
    @example(b'{"kind":"gauge","proc":"fuzz","seq":1,"ts":1,"name":"x","value":1e999}\n', "identity", 0)
    @example(b'{"kind":"gauge","proc":"fuzz","proc":"fuzz","seq":1,"ts":1,"name":"x","value":1}\n', "identity", 0)
    def check(body: bytes, encoding: str, seed: int) -> None:
        packing, header = packed(body, encoding)
        for sent in mangled(packing, seed):
            answer = fuzzed.post(sent, {"Content-Encoding": header}, connection=connection)
            assert answer.status in answers
            answers[answer.status] += 1
            assert (answer.status == 200) == ("accepted" in answer.body)
            if answer.status != 200:
                assert "Traceback" not in answer.body["error"]
                assert answer.body["error"]

    check()
    assert sum(answers.values()) >= 10_000
    assert answers[400] > 1_000
    assert fuzzed.request("GET", "/healthz").body == {"status": "ok"}
    assert fuzzed.post(batch("fine", 1, 100)).body["accepted"] == 100
    # Whatever of it was accepted did not stop the store either.
    fuzzed.wait_stored()
    assert fuzzed.query("SELECT count(*) FROM point WHERE proc = 'fine'") == [[99]]


def test_garbage_that_is_not_http_is_answered_or_dropped(fuzzed: Server) -> None:
    noise = random.Random(7)
    requests = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS greeting
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/lines HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/lines HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
        b"POST /v1/lines HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST /v1/lines HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nnope\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        *(noise.randbytes(noise.randrange(1, 2000)) for _ in range(300)),
    ]
    for request in requests:
        with socket.create_connection((fuzzed.host, fuzzed.port), timeout=30) as stream:
            stream.sendall(request)
            stream.shutdown(socket.SHUT_WR)
            try:
                answer = stream.recv(65536)
            except ConnectionError:
                continue
            assert b"Traceback" not in answer
            assert not answer.startswith(b"HTTP/1.1 5")
    assert fuzzed.request("GET", "/healthz").status == 200
    assert "Traceback" not in fuzzed.output()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/lines", 405),
        ("PUT", "/v1/lines", 405),
        ("POST", "/healthz", 405),
        ("GET", "/api/v1/query", 405),
        ("GET", "/api/v1/runs/x", 405),
        ("DELETE", "/api/v1/runs/never-heard-of", 404),
        ("BREW", "/", 400),
        ("TRACE", "/", 405),
    ],
)
def test_unknown_paths_and_methods_get_the_error_shape(fuzzed: Server, method: str, path: str, status: int) -> None:
    answer = fuzzed.request(method, path)
    assert answer.status == status
    assert list(answer.body) == ["error"]


def test_a_sender_that_hangs_up_half_way_stores_nothing(fuzzed: Server) -> None:
    body = batch("cut", 1, 1000)
    for cut in (0, 1, 500, len(body) - 1):
        with socket.create_connection((fuzzed.host, fuzzed.port)) as stream:
            head = f"POST /v1/lines HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            stream.sendall(head.encode() + body[:cut])
    assert fuzzed.post(body).body["accepted"] == 1000
    assert "Traceback" not in fuzzed.output()


def test_pipelined_requests_are_answered_in_order(fuzzed: Server) -> None:
    with socket.create_connection((fuzzed.host, fuzzed.port), timeout=30) as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        received = b""
        while received.count(b'{"status":"ok"}') < 20:
            chunk = stream.recv(65536)
            assert chunk
            received += chunk

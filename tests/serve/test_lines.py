"""`POST /v1/lines` acknowledges what it has stored and says exactly what is wrong with what it refuses."""

import gzip
import json
import time

import pytest
import zstandard

from harness import Server, batch, encode, gauge_line, process_line


def test_an_accepted_batch_can_be_queried(server: Server) -> None:
    answer = server.post(batch("p", 1, 100))
    assert answer.status == 200
    assert answer.body["accepted"] == 100
    assert answer.body["duplicates"] == 0
    assert abs(answer.body["clock"] - time.time_ns()) < 60e9
    server.wait_stored()
    assert server.query("SELECT count(*), count(DISTINCT seq), min(run) FROM point") == [[99, 99, "run-1"]]


def test_a_batch_sent_twice_is_stored_once(server: Server) -> None:
    server.post(batch("p", 1, 10))
    again = server.post(batch("p", 1, 15))
    assert (again.body["accepted"], again.body["duplicates"]) == (5, 10)
    server.wait_stored()
    assert server.query("SELECT count(*) FROM point") == [[14]]


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "identity"])
def test_bodies_may_be_compressed(server: Server, encoding: str) -> None:
    pack = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress, "identity": bytes}[encoding]
    assert server.post(pack(batch("p", 1, 5000)), {"Content-Encoding": encoding}).body["accepted"] == 5000


def test_a_body_may_be_chunked(server: Server) -> None:
    body = batch("p", 1, 1000)
    connection = server.connect()
    connection.request("POST", "/v1/lines", body=(body[i : i + 7777] for i in range(0, len(body), 7777)))
    assert json.loads(connection.getresponse().read())["accepted"] == 1000


def test_a_bad_line_is_named_and_nothing_of_its_batch_is_stored(server: Server) -> None:
    lines = [process_line("p"), gauge_line("p", 2), {**gauge_line("p", 3), "value": "high"}]
    answer = server.post(encode(*lines))
    assert answer.status == 400
    assert answer.body["line"] == 3
    assert answer.body["path"] == "$.value"
    assert "line 3" in answer.body["error"]
    assert server.post(batch("p", 1, 3)).body == {
        "accepted": 3,
        "duplicates": 0,
        "clock": pytest.approx(time.time_ns(), abs=60e9),
    }


def test_a_line_of_another_major_version_is_refused_naming_both(server: Server) -> None:
    answer = server.post(encode(process_line("p", schema="2.3")))
    assert answer.status == 400
    assert "version 2" in answer.body["error"]
    assert "version 1" in answer.body["error"]


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, zstd", "☃".encode().decode("latin-1")])
def test_an_unknown_encoding_is_refused(server: Server, encoding: str) -> None:
    answer = server.post(batch("p", 1, 1), {"Content-Encoding": encoding})
    assert answer.status == 415
    assert "gzip" in answer.body["error"]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_cut_off_compressed_body_is_refused_whole(server: Server, encoding: str) -> None:
    pack = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[encoding]
    packed = pack(batch("p", 1, 5000))
    for cut in (1, 10, len(packed) // 2, len(packed) - 1):
        assert server.post(packed[:cut], {"Content-Encoding": encoding}).status == 400
    server.wait_stored()
    assert server.query("SELECT count(*) FROM point") == [[0]]


def test_many_batches_over_one_connection(server: Server) -> None:
    connection = server.connect()
    for first in range(1, 2001, 100):
        assert server.post(batch("p", first, 100), connection=connection).status == 200
    server.wait_stored()
    assert server.query("SELECT count(*) FROM point") == [[1999]]


def test_a_run_is_listed_and_deleted(server: Server) -> None:
    server.post(batch("p", 1, 10, run="a/b c"))
    server.post(batch("q", 1, 10, run="other"))
    server.wait_stored()
    assert {run["run"] for run in server.request("GET", "/api/v1/runs").body["runs"]} == {"a/b c", "other"}
    answer = server.request("DELETE", "/api/v1/runs/a%2Fb%20c")
    assert answer.status == 200
    assert answer.body == {"run": "a/b c", "lines": 10}
    assert [run["run"] for run in server.request("GET", "/api/v1/runs").body["runs"]] == ["other"]
    assert server.request("DELETE", "/api/v1/runs/a%2Fb%20c").status == 404

"""Queries read the store and nothing else."""

import json
from pathlib import Path

import pytest

from harness import Server, batch, running_server


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with running_server(tmp_path_factory.mktemp("query") / "data") as server:
        server.post(batch("p", 1, 100))
        server.wait_stored()
        yield server


def ask(server: Server, sql: str, **more: object):  # type: ignore[no-untyped-def]
    return server.request("POST", "/api/v1/query", json.dumps({"sql": sql, **more}).encode())


def test_an_answer_names_columns_and_types(filled: Server) -> None:
    answer = ask(filled, "SELECT name, count(*) AS n, max(value) AS top FROM point GROUP BY name")
    assert answer.status == 200
    assert answer.body["columns"] == ["name", "n", "top"]
    assert answer.body["types"] == ["VARCHAR", "BIGINT", "DOUBLE"]
    assert answer.body["rows"] == [["loss", 99, 100.0]]
    assert answer.body["truncated"] is False


def test_a_limit_cuts_and_says_so(filled: Server) -> None:
    answer = ask(filled, "SELECT seq FROM point ORDER BY seq", limit=3)
    assert answer.body["rows"] == [[2], [3], [4]]
    assert answer.body["truncated"] is True


def test_parameters_are_bound(filled: Server) -> None:
    assert ask(filled, "SELECT count(*) FROM point WHERE seq < ?", params=[10]).body["rows"] == [[8]]
    assert ask(filled, "SELECT count(*) FROM point WHERE seq < $top", params={"top": 10}).body["rows"] == [[8]]


@pytest.mark.parametrize("sql", ["SHOW TABLES", "DESCRIBE span", "EXPLAIN SELECT 1", "WITH a AS (SELECT 1) FROM a"])
def test_reading_statements_are_answered(filled: Server, sql: str) -> None:
    assert ask(filled, sql).status == 200


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM point",
        "DROP TABLE point",
        "INSERT INTO point SELECT * FROM point",
        "UPDATE point SET value = 0",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE VIEW mine AS SELECT 1",
        "SELECT 1; DROP TABLE point",
        "EXPLAIN ANALYZE DELETE FROM point",
        "WITH gone AS (DELETE FROM point RETURNING *) SELECT * FROM gone",
        "COPY point TO '/tmp/rl-insight-stolen.csv'",
        "ATTACH '/tmp/rl-insight-other.duckdb'",
        "DETACH store",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA enable_external_access = true",
        "CHECKPOINT",
        "EXPORT DATABASE '/tmp/rl-insight-dump'",
        "CALL pragma_version()",
        "BEGIN",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_json('http://127.0.0.1:1/x')",
        "FROM nonsense",
        "this is not SQL",
        "",
        ";",
        "SELECT 1/0::INTEGER FROM missing",
        "SELECT \0",
        "SELECT ?",
    ],
)
def test_everything_else_is_refused_with_a_reason_and_changes_nothing(filled: Server, sql: str) -> None:
    answer = ask(filled, sql)
    assert answer.status == 400, answer.body
    assert answer.body["error"]
    assert "Traceback" not in json.dumps(answer.body)
    assert ask(filled, "SELECT count(*), count(DISTINCT value) FROM point").body["rows"] == [[99, 99]]


def test_secrets_of_the_data_folder_cannot_be_read(filled: Server) -> None:
    secret = filled.data_dir / "token"
    secret.write_text("hidden")
    for sql in (f"SELECT * FROM read_text('{secret}')", f"SELECT * FROM '{filled.data_dir}/token'"):
        assert ask(filled, sql).status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b"{" * 9999,
        b'{"sql": 1}',
        b'{"sql": "SELECT 1", "limit": 0}',
        b'{"sql": "SELECT 1", "limit": 99999999999999999999}',
        b'{"sql": "SELECT 1", "what": 1}',
    ],
)
def test_a_malformed_request_is_told_the_form(filled: Server, body: bytes) -> None:
    answer = filled.request("POST", "/api/v1/query", body)
    assert answer.status == 400
    assert answer.body["error"]


def test_odd_values_come_back_as_json(filled: Server) -> None:
    sql = """SELECT 170141183460469231731687303715884105727::HUGEINT AS huge, 'nan'::DOUBLE AS nan,
             '-inf'::DOUBLE AS inf,
             DATE '2024-01-01' AS day, TIMESTAMP '2024-01-01 01:02:03' AS moment, INTERVAL 3 DAY AS while,
             1.5::DECIMAL(9, 2) AS price, 'ab'::BLOB AS raw, [1, 2] AS list, {'a': 1} AS struct,
             MAP {1: 'x'} AS map, uuid() AS id, TRUE AS yes, NULL AS nothing"""
    answer = ask(filled, sql)
    assert answer.status == 200
    (row,) = answer.body["rows"]
    values = dict(zip(answer.body["columns"], row, strict=True))
    assert str(values["huge"]).startswith("1701411834604692317")
    assert values["nan"] is None
    assert values["list"] == [1, 2]
    assert values["struct"] == {"a": 1}
    assert values["yes"] is True
    assert values["nothing"] is None


def test_an_expensive_query_does_not_stop_ingestion(tmp_path: Path) -> None:
    import threading

    with running_server(tmp_path / "data") as server:
        slow = "SELECT count(*) FROM range(100000000) a, range(1000) b WHERE (a.range * b.range) % 7 = 3"
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(ask(server, slow, timeout=1.5))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for first in range(1, 1001, 100):
            assert server.post(batch("p", first, 100)).status == 200
            assert server.request("GET", "/healthz").status == 200
        for thread in threads:
            thread.join()
        assert [answer.status for answer in answers] == [400] * 6
        assert "longer than" in answers[0].body["error"]

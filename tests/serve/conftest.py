from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Server, running_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running_server(tmp_path / "data") as server:
        yield server

"""The folders are the data's way through the system: a module imports from its own room and rooms to its left."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rl_insight"
ROOMS = ["schema", "record", "ship", "collect", "store", "read", "export", "serve", "stack", "adapters", "cli", "demo"]
EVERYWHERE = {"config", "version"}


def imported_names(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names += [f"{module}.{alias.name}" for alias in node.names] if module == "rl_insight" else [module]
    return [name for name in names if name == "rl_insight" or name.startswith("rl_insight.")]


def modules_of_rooms() -> list[Path]:
    return sorted(path for room in ROOMS for path in (SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("path", modules_of_rooms(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_nothing_from_a_room_to_its_right(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0]
    allowed = {*ROOMS[: ROOMS.index(room) + 1], *EVERYWHERE}
    for name in imported_names(path):
        parts = name.split(".")
        if len(parts) == 1:
            # The public API at the top: its users stand at the right end of the house.
            assert room in ("adapters", "cli", "demo"), f"{path} imports the public API"
        else:
            assert parts[1] in allowed or (room in ("adapters", "cli", "demo") and parts[1] not in ROOMS), (
                f"{path.relative_to(SOURCE)} imports {name}: {parts[1]} is right of {room}"
            )


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(ROOMS)

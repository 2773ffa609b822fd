"""Installs programs of the stack from archives on this machine, as their makers release them: checked, unpacked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

import msgspec

from rl_insight.stack.files import put
from rl_insight.stack.programs import BINARIES, Installed

ENDINGS = (".tar.gz", ".tgz", ".zip")
# Grafana's archive holds about 10,000 files and 600 MB; a bomb holds more.
MOST_FILES = 100_000
MOST_BYTES = 4 * 2**30
_HEX = re.compile(r"\b[0-9a-fA-F]{64}\b")
_CHUNK = 2**20


class CannotInstall(RuntimeError):
    """Nothing was installed: what is wrong, and what to do, after a semicolon."""


class Member(NamedTuple):
    """A file, folder or link of an archive."""

    name: str
    kind: str  # file, folder, link
    size: int
    mode: int
    target: str
    open: Callable[[], IO[bytes] | None]


def archives_in(place: Path) -> list[Path]:
    """The archives that an argument means: itself, or those of a folder."""
    if place.is_dir():
        found = sorted(path for path in place.iterdir() if path.name.endswith(ENDINGS) and path.is_file())
        if not found:
            raise CannotInstall(f"{place} holds no {' or '.join(ENDINGS)} file; put the downloaded archives there")
        return found
    if not place.is_file():
        raise CannotInstall(f"there is no file {place}; give the path of a downloaded archive, or of a folder of them")
    if not place.name.endswith(ENDINGS):
        raise CannotInstall(f"{place.name} is no archive; a {', '.join(ENDINGS)} file is wanted, as it was released")
    return [place]


def expected(archive: Path, given: list[str]) -> str:
    """The checksum the archive must have: given on the command line, or in a checksum file beside it."""
    checksums = [text.lower() for text in given]
    bad = [text for text in checksums if not _HEX.fullmatch(text)]
    if bad:
        raise CannotInstall(f"{bad[0]!r} is no SHA-256 checksum; it has 64 digits and letters a to f")
    if len(checksums) == 1:
        return checksums[0]
    if checksums:
        actual = digest(archive)
        if actual in checksums:
            return actual
        raise CannotInstall(
            f"{archive.name} has the checksum {actual}, which is none of those given; it was damaged or changed on its "
            "way: download it again, and its checksum from the maker's own page"
        )
    for beside in _checksum_files(archive):
        if (found := _named_in(beside, archive.name)) is not None:
            return found
    raise CannotInstall(
        f"nothing says which checksum {archive.name} should have; give --sha256 as its download page shows it, or put "
        f"{archive.name}.sha256 or sha256sums.txt beside it"
    )


def install(archive: Path, sha256: str, services: Path) -> tuple[Installed, bool]:
    """Unpack an archive into the services folder. Says what it was, and whether it was there already."""
    actual = digest(archive)
    if actual != sha256.lower():
        raise CannotInstall(
            f"{archive.name} has the checksum {actual}, not {sha256.lower()}; it was damaged or changed on its way: "
            "download it again, and its checksum from the maker's own page"
        )
    services.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with _opened(archive) as members:
            found = list(members)
            name, binary = _what(archive, found)
            folder = services / f"{name}-{actual[:12]}"
            said = Installed(name, f"{folder.name}/{binary}", archive.name, actual)
            there = (folder / binary).is_file()
            if not there:
                _unpack(found, folder, services)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise CannotInstall(f"{archive} could not be unpacked: {error}; is there room, is it whole?") from None
    put(services / f"{name}.json", msgspec.json.format(msgspec.json.encode(said)) + b"\n")
    return said, there


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    sha = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            sha.update(chunk)
    return sha.hexdigest()


class _opened:
    """The members of an archive, for the length of a `with` block."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._open: tarfile.TarFile | zipfile.ZipFile | None = None

    def __enter__(self) -> Iterator[Member]:
        if self._archive.name.endswith(".zip"):
            packed = self._open = zipfile.ZipFile(self._archive)
            return _zip_members(packed)
        tar = self._open = tarfile.open(self._archive, "r:gz")
        return _tar_members(tar)

    def __exit__(self, *_: object) -> None:
        if self._open is not None:
            self._open.close()


def _tar_members(archive: tarfile.TarFile) -> Iterator[Member]:
    for one in archive:
        kind = "file" if one.isreg() else "folder" if one.isdir() else "link" if one.issym() else ""
        if not kind:
            raise CannotInstall(f"the archive holds {one.name}, which is no file, folder or link inside it; refused")
        yield Member(one.name, kind, one.size, one.mode, one.linkname, lambda one=one: archive.extractfile(one))  # type: ignore[misc]


def _zip_members(archive: zipfile.ZipFile) -> Iterator[Member]:
    for one in archive.infolist():
        mode = one.external_attr >> 16
        if stat.S_ISLNK(mode):
            raise CannotInstall(f"the archive holds {one.filename}, which is a link; refused")
        kind = "folder" if one.is_dir() else "file"
        yield Member(one.filename, kind, one.file_size, mode, "", lambda one=one: archive.open(one))  # type: ignore[misc]


def _what(archive: Path, members: list[Member]) -> tuple[str, str]:
    """Which program an archive holds, and where in it."""
    for name, binaries in BINARIES.items():
        for binary in binaries:
            for member in members:
                path = PurePosixPath(member.name)
                inside = path.parts[:-1]
                if (
                    member.kind == "file"
                    and path.name == binary
                    and (not inside or len(inside) == 1 or inside[1:] == ("bin",))
                ):
                    return name, str(path)
    raise CannotInstall(
        f"{archive.name} holds none of the programs {', '.join(BINARIES)}; take the archive for this kind of machine, "
        "not the sources"
    )


def _unpack(members: list[Member], folder: Path, services: Path) -> None:
    if len(members) > MOST_FILES or sum(member.size for member in members) > MOST_BYTES:
        raise CannotInstall("the archive is larger than any release of these programs; refused")
    fresh = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=services))
    try:
        for member in members:
            _unpack_one(member, fresh)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.chmod(0o755)
        fresh.rename(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _unpack_one(member: Member, root: Path) -> None:
    place = _inside(root, PurePosixPath(member.name), member.name)
    if member.kind == "folder":
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # A link planted earlier must not lead a later file out of the folder.
    if not place.parent.resolve().is_relative_to(root.resolve()):
        raise CannotInstall(f"the archive holds {member.name!r}, which lies outside of it; refused")
    if member.kind == "link":
        if PurePosixPath(member.target).is_absolute():
            raise CannotInstall(f"the archive holds {member.name!r}, a link out of it; refused")
        _inside(root, PurePosixPath(member.name).parent / member.target, member.name)
        place.symlink_to(member.target)
        return
    source = member.open()
    assert source is not None
    with source, place.open("xb") as target:
        left = member.size
        while left > 0 and (chunk := source.read(min(_CHUNK, left))):
            target.write(chunk)
            left -= len(chunk)
    place.chmod(0o755 if member.mode & 0o111 else 0o644)


def _inside(root: Path, path: PurePosixPath, shown: str) -> Path:
    normal = os.path.normpath(str(path))
    if path.is_absolute() or normal.startswith("..") or "\\" in normal or "\0" in normal:
        raise CannotInstall(f"the archive holds {shown!r}, which lies outside of it; refused")
    return root / normal


def _checksum_files(archive: Path) -> Iterator[Path]:
    names = [f"{archive.name}.sha256", f"{archive.name}.sha256sum", "sha256sums.txt", "SHA256SUMS", "SHA256SUMS.txt"]
    for name in names:
        if (beside := archive.parent / name).is_file():
            yield beside


def _named_in(checksums: Path, archive: str) -> str | None:
    lines = [line for line in checksums.read_text(errors="replace").splitlines() if _HEX.search(line)]
    for line in lines:
        if line.split()[-1].lstrip("*").rpartition("/")[2] == archive:
            return _HEX.findall(line)[0].lower()  # type: ignore[no-any-return]
    # A file for this one archive may hold the checksum alone, as Grafana's does.
    if checksums.name.startswith(archive) and len(lines) == 1 and len(lines[0].split()) == 1:
        return lines[0].strip().lower()
    return None

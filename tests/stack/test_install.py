"""Programs are installed from archives as they are released: only with the right checksum, only inside their folder."""

import hashlib
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness import command
from rl_insight.stack import programs
from rl_insight.stack.install import CannotInstall, archives_in, expected, install

SCRIPT = b"#!/bin/sh\necho 'fake, version 2.9.2'\n"


def tar(path: Path, *members: tuple[str, bytes | str]) -> Path:
    """A .tar.gz; text content makes a link to it."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def released(folder: Path) -> dict[str, Path]:
    """The three archives in the shapes their makers give them."""
    return {
        "prometheus": tar(
            folder / "prometheus-3.5.0.linux-amd64.tar.gz",
            ("prometheus-3.5.0.linux-amd64/prometheus", SCRIPT),
            ("prometheus-3.5.0.linux-amd64/LICENSE", b"free"),
        ),
        "tempo": tar(folder / "tempo_2.9.2_linux_amd64.tar.gz", ("LICENSE", b"free"), ("tempo", SCRIPT)),
        "grafana": tar(
            folder / "grafana-12.3.1.linux-amd64.tar.gz",
            ("grafana-12.3.1/bin/grafana", SCRIPT),
            ("grafana-12.3.1/conf/defaults.ini", b"[paths]"),
            ("grafana-12.3.1/bin/grafana-server", "grafana"),
        ),
    }


def test_a_folder_of_releases_is_installed_and_found(tmp_path: Path) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    found = released(archives)
    # Each maker has a way of its own to tell the checksum.
    (archives / "sha256sums.txt").write_text(f"{checksum(found['prometheus'])}  {found['prometheus'].name}\n")
    (archives / "SHA256SUMS").write_text(f"{checksum(found['tempo'])} *{found['tempo'].name}\n")
    (archives / f"{found['grafana'].name}.sha256").write_text(checksum(found["grafana"]))
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = command("stack", "install", "--from", str(archives), **environment)
    assert done.returncode == 0, done.stderr
    services = tmp_path / ".rl-insight" / "services"
    for name in programs.NAMES:
        program = programs.find(name, services)
        assert isinstance(program, programs.Program), program
        assert program.binary.is_relative_to(services)
        assert programs.version(program) == (2, 9, 2)
    assert stat.S_IMODE(services.stat().st_mode) == 0o700
    again = command("server", "install", "--from", str(archives), **environment)
    assert again.stderr.count("was there already") == 3


def test_a_wrong_or_missing_checksum_installs_nothing(tmp_path: Path) -> None:
    archive = released(tmp_path)["tempo"]
    services = tmp_path / "services"
    with pytest.raises(CannotInstall, match="nothing says which checksum"):
        expected(archive, [])
    with pytest.raises(CannotInstall, match="is no SHA-256 checksum"):
        expected(archive, ["abc"])
    with pytest.raises(CannotInstall, match="none of those given"):
        expected(archive, ["0" * 64, "1" * 64])
    with pytest.raises(CannotInstall, match=f"has the checksum {checksum(archive)}, not {'0' * 64}"):
        install(archive, "0" * 64, services)
    assert not services.exists()
    done = command("stack", "install", "--from", str(archive), "--sha256", "0" * 64, HOME=str(tmp_path))
    assert done.returncode == 1
    assert "download it again" in done.stderr
    assert not (tmp_path / ".rl-insight" / "services").exists()


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([("tempo", SCRIPT), ("../../outside", b"x")], "lies outside"),
        ([("tempo", SCRIPT), ("/tmp/outside", b"x")], "lies outside"),
        ([("tempo", SCRIPT), ("etc", "/etc"), ("etc/outside", b"x")], "link out of it"),
        ([("tempo", SCRIPT), ("up", ".."), ("up/outside", b"x")], "lies outside"),
        ([("notes.txt", b"nothing")], "holds none of the programs"),
    ],
)
def test_an_archive_cannot_write_outside_of_its_folder(
    tmp_path: Path, members: list[tuple[str, bytes | str]], says: str
) -> None:
    archive = tar(tmp_path / "tempo.tar.gz", *members)
    services = tmp_path / "services"
    with pytest.raises(CannotInstall, match=says):
        install(archive, checksum(archive), services)
    assert list(services.iterdir()) == []
    assert not (tmp_path / "outside").exists()


def test_devices_hard_links_and_links_in_a_zip_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("tempo")
        info.type = tarfile.FIFOTYPE
        archive.addfile(info)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as packed:
        link = zipfile.ZipInfo("tempo")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    for name in ("a.tar.gz", "b.zip"):
        with pytest.raises(CannotInstall, match="refused"):
            install(tmp_path / name, checksum(tmp_path / name), tmp_path / "services")


def test_a_zip_keeps_what_is_executable(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "prometheus.zip", "w") as packed:
        entry = zipfile.ZipInfo("prometheus-3/prometheus")
        entry.external_attr = (stat.S_IFREG | 0o755) << 16
        packed.writestr(entry, SCRIPT)
        packed.writestr("prometheus-3/NOTICE", "free")
    said, there = install(tmp_path / "prometheus.zip", checksum(tmp_path / "prometheus.zip"), tmp_path / "services")
    assert not there
    assert os.access(tmp_path / "services" / said.binary, os.X_OK)


def test_a_damaged_archive_leaves_nothing_behind(tmp_path: Path) -> None:
    whole = tar(tmp_path / "tempo.tar.gz", ("tempo", os.urandom(200_000)))
    whole.write_bytes(whole.read_bytes()[:100_000])
    with pytest.raises(CannotInstall, match="could not be unpacked"):
        install(whole, checksum(whole), tmp_path / "services")
    assert list((tmp_path / "services").iterdir()) == []


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    for place, says in [("empty", "holds no"), ("notes.txt", "is no archive"), ("gone.zip", "there is no file")]:
        with pytest.raises(CannotInstall, match=says):
            archives_in(tmp_path / place)


def test_what_is_missing_is_said_precisely(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    lonely = tmp_path / "bin" / "grafana"
    lonely.write_bytes(SCRIPT)
    lonely.chmod(0o755)
    done = command("stack", "install", HOME=str(tmp_path), PATH=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert f"prometheus is neither in {tmp_path}/.rl-insight/services nor on PATH" in done.stderr
    assert programs.archive_of("tempo") in done.stderr
    assert programs.archive_of("tempo").startswith("tempo_VERSION_")
    assert f"{lonely} is there, but not the folder with conf/defaults.ini" in done.stderr

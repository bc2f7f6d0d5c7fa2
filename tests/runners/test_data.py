"""Official files over real HTTP on loopback: whole and right, or not there at all."""

from __future__ import annotations

import gzip
import hashlib
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from rich.progress import Progress

from rdforget.suites import mab_fc
from rdforget.suites.registry import SUITES
from rdforget.suites.sources import SOURCES, OfficialFile, Status, local_files
from runners.data import bars, check_suite, download, fetch_suites, presence
from runners.errors import UserError

BODY = b'[{"an": "official file"}]' * 1000


@dataclass(frozen=True)
class Served:
    """What a loopback server answers for a path; anything else is 404."""

    body: bytes = BODY
    missing: int = 0
    """Bytes that the length promises and the body lacks."""
    location: str = ""
    """Where a redirect leads."""


@contextmanager
def serving(files: Mapping[str, Served]) -> Iterator[tuple[str, list[str]]]:
    """The base address of a server of `files`, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            served = files.get(self.path)
            if served is None:
                self.send_error(404)
                return
            self.send_response(302 if served.location else 200)
            if served.location:
                self.send_header("Location", served.location)
            self.send_header("Content-Length", str(len(served.body) + served.missing))
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, format: str, *args: object) -> None:
            """`asked` is the log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def official(url: str, sha: str | None = sha256(BODY)) -> OfficialFile:
    return OfficialFile("some", "file.json", url, sha)


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.parametrize("sha", [sha256(BODY), None])
def test_a_download_is_whole_and_leaves_no_other_file(tmp_path: Path, sha: str | None) -> None:
    target = tmp_path / "deep" / "file.json"
    with serving({"/f": Served(b"", location="/g"), "/g": Served()}) as (base, asked), bars(quiet=True) as progress:
        download(official(f"{base}/f", sha), target, progress)
    assert asked == ["/f", "/g"]
    assert target.read_bytes() == BODY
    assert list(target.parent.iterdir()) == [target]


def test_a_wrong_hash_names_both_and_keeps_nothing(tmp_path: Path) -> None:
    with (
        serving({"/f": Served(b"other")}) as (base, _),
        bars(quiet=True) as progress,
        pytest.raises(UserError) as raised,
    ):
        download(official(f"{base}/f"), tmp_path / "file.json", progress)
    assert sha256(b"other") in str(raised.value)
    assert sha256(BODY) in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sha", [sha256(BODY), None])
def test_a_body_that_is_cut_off_keeps_nothing(tmp_path: Path, sha: str | None) -> None:
    with (
        serving({"/f": Served(missing=10)}) as (base, _),
        bars(quiet=True) as progress,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        download(official(f"{base}/f", sha), tmp_path / "file.json", progress)
    assert list(tmp_path.iterdir()) == []


class Interrupting(Progress):
    def advance(self, *args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_download_keeps_nothing(tmp_path: Path) -> None:
    with serving({"/f": Served()}) as (base, _), pytest.raises(KeyboardInterrupt):
        download(official(f"{base}/f"), tmp_path / "file.json", Interrupting(disable=True))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def mab(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """`mab-fc` with BODY as its official file, published on loopback; what was asked for."""
    hashes = dict.fromkeys(SOURCES["mab-fc"].hashes, sha256(BODY))
    with serving({"/at/7ea0/Conflict_Resolution.parquet": Served()}) as (base, asked):
        source = replace(SOURCES["mab-fc"], url=f"{base}/at/{{revision}}/{{file}}", revision="7ea0", hashes=hashes)
        monkeypatch.setitem(SOURCES, "mab-fc", source)
        yield asked


def fetch(data_dir: Path, *names: str) -> list[tuple[str, str]]:
    with bars(quiet=True) as progress:
        return [(done.action, done.status) for done in fetch_suites(names, data_dir, progress)]


def test_what_is_missing_is_fetched_once(tmp_path: Path, mab: list[str]) -> None:
    assert fetch(tmp_path, "mab-fc") == [("fetched", "official")]
    assert fetch(tmp_path, "mab-fc", "mab-fc:sh_6k") == [("kept", "official")]
    assert len(mab) == 1
    assert presence("mab-fc", tmp_path) == "present"


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("mab/Conflict_Resolution.parquet", b"mine", "differs from the official file"),
        ("Conflict_Resolution-00000-of-00001.parquet", BODY, "official"),
    ],
)
def test_an_existing_file_is_kept(tmp_path: Path, mab: list[str], name: str, content: bytes, status: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert fetch(tmp_path, "mab-fc") == [("kept", status)]
    assert path.read_bytes() == content
    assert mab == []


def test_a_file_that_would_be_read_instead_is_named(tmp_path: Path, mab: list[str]) -> None:
    (tmp_path / "mab").mkdir()
    (tmp_path / "mab" / "Conflict_Resolution.json").write_text("[]", "utf-8")
    with bars(quiet=True) as progress:
        [done] = fetch_suites(["mab-fc"], tmp_path, progress)
    assert done.note.startswith("Conflict_Resolution.json is read in its place")


@pytest.mark.parametrize("data_dir", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, mab: list[str], data_dir: str) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be", "utf-8")
    with pytest.raises(UserError, match=r"Conflict_Resolution\.parquet cannot be written"):
        fetch(tmp_path / data_dir, "mab-fc")


def test_no_suite_is_fetched_when_one_of_them_has_no_files(tmp_path: Path, mab: list[str]) -> None:
    with pytest.raises(UserError, match="synthetic-fc has no official files"):
        fetch(tmp_path, "mab-fc", "synthetic-fc")
    assert mab == []


def test_an_address_that_does_not_answer_says_what_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{closed_port()}/{{file}}"
    monkeypatch.setitem(SOURCES, "mab-fc", replace(SOURCES["mab-fc"], url=url))
    with pytest.raises(UserError, match=re.escape(f"put it at {tmp_path / 'mab' / 'Conflict_Resolution.parquet'}")):
        fetch(tmp_path, "mab-fc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("some/file.json", BODY, Status.OFFICIAL),
        ("file.json", BODY, Status.OFFICIAL),
        ("some/file.json.gz", gzip.compress(BODY), Status.OFFICIAL),
        ("some/file.json.gz", gzip.compress(BODY)[:-9], Status.UNREADABLE),
        ("some/file.json.gz", b"no gzip", Status.UNREADABLE),
        ("some/file.json", BODY[1:], Status.DIFFERS),
        ("some/file.part1.json", BODY, Status.PART),
        ("some/file.csv", BODY, Status.MISSING),
    ],
)
def test_a_file_has_a_status(tmp_path: Path, name: str, content: bytes, status: Status) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / name).write_bytes(content)
    source = replace(SOURCES["personamem"], folder="some", hashes={"file.json": sha256(BODY), "other": None})
    found = local_files(SUITES["mab-fc"], source, tmp_path)
    assert [file.status(paths) for file, paths in found.items()] == [status, Status.MISSING]


def test_without_an_official_hash_nothing_is_called_official(tmp_path: Path) -> None:
    (tmp_path / "100K" / "7").mkdir(parents=True)
    (tmp_path / "100K" / "7" / "chat.json").write_bytes(BODY)
    found = local_files(SUITES["mab-fc"], SOURCES["beam"], tmp_path)
    statuses = {file.path: file.status(paths) for file, paths in found.items() if paths}
    assert statuses == {"100K/7/chat.json": Status.UNKNOWN}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "missing"),
        (["Conflict_Resolution.json"], "present in another form"),
        (["one.json"], "partial: 1 of 2 files"),
        (["one.json", "two.csv.gz"], "present"),
        (["one.json", "two.a.csv", "two.b.csv.gz"], "partial: parts of 2 of 2 files"),
    ],
)
def test_what_is_here_is_told_by_names_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], said: str
) -> None:
    source = replace(SOURCES["mab-fc"], hashes={"one.json": None, "two.csv": None})
    monkeypatch.setitem(SOURCES, "mab-fc", source)
    for name in names:
        (tmp_path / name).touch()
    assert presence("mab-fc", tmp_path) == said


def test_sources_are_pinned_and_addresses_whole() -> None:
    for source in SOURCES.values():
        assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
        for file in source.files:
            assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert source.revision in file.url
            assert file.url.startswith("https://")
            assert not set(file.url) & set("{} ")
    assert SOURCES["mab-fc"].revision == mab_fc.REVISION
    assert {name: len(source.files) for name, source in SOURCES.items()} == {
        "amb-text": 1,
        "lme-ku": 1,
        "mab-fc": 1,
        "beam": 50,
        "personamem": 2,
    }


@pytest.mark.parametrize("suite", [name for name, spec in SUITES.items() if spec.files])
def test_every_suite_with_files_has_a_source_that_its_loader_finds(suite: str, tmp_path: Path) -> None:
    for file in SOURCES[suite].files:
        path = tmp_path / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[", "utf-8")
    report = check_suite(suite, tmp_path)
    assert report.state == "broken"
    assert str(tmp_path) in report.detail
    assert presence(suite, tmp_path) == "present"

"""The suites' official files: what is here, whether it loads, and fetching what is missing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from rdforget.plugins import UnknownNameError
from rdforget.suites.base import DataError, find_file
from rdforget.suites.own_data import read as read_own
from rdforget.suites.registry import REGISTRY, SuiteSpec, is_folder, load_suite
from rdforget.suites.sources import SOURCES, OfficialFile, Status, SuiteSource, local_files
from rdforget.text import one_line
from runners.errors import UserError

TIMEOUT = 30.0  # seconds without a byte, not for the whole file


@dataclass(frozen=True, slots=True)
class FileReport:
    """An official file and what stands in the data folder for it."""

    file: str
    """Where it belongs in the data folder."""
    found: tuple[str, ...]
    status: Status
    url: str


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """What the data folder yields of a suite."""

    suite: str
    state: str
    """`complete`, `partial`, `missing` or `broken`."""
    questions: int | None
    """None where the suite did not load."""
    expected: int | None
    detail: str
    """Why it is partial, missing or broken."""
    files: tuple[FileReport, ...]
    problems: tuple[str, ...] = ()
    """All that is wrong with a folder of own data, a sentence each, with file and line."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one official file."""

    suite: str
    file: str
    action: str
    """`fetched` or `kept`."""
    status: Status
    note: str = ""
    """What stands in the way of its use."""


def suite_spec(name: str) -> SuiteSpec:
    """The suite of `name` or `name:variant`; UserError names the nearest."""
    try:
        return REGISTRY.get(name.partition(":")[0])
    except UnknownNameError as error:
        raise UserError(str(error)) from error


def presence(name: str, data_dir: Path | None) -> str:
    """`none needed`, `present`, `missing`, `partial: parts of 2 of 2 files`, ... Reads no content."""
    spec, source = suite_spec(name), SOURCES.get(name)
    if source is None:
        return "no files are known" if spec.files else "none needed"
    if data_dir is None:
        return "no data folder named"
    found = local_files(spec, source, data_dir)
    parts = any(file.is_part(path) for file, paths in found.items() for path in paths)
    here = sum(map(bool, found.values()))
    if here == len(found) and not parts:
        return "present"
    if here:
        return f"partial: {'parts of ' if parts else ''}{here} of {len(found)} files"
    return "present in another form" if _has_other(spec, data_dir) else "missing"


def check_suite(name: str, data_dir: Path | None) -> SuiteReport:
    """Load a suite, count its questions and compare its files with the official ones."""
    if is_folder(name):
        return _check_folder(Path(name))
    base = name.partition(":")[0]
    spec, source = suite_spec(name), SOURCES.get(base)
    found = local_files(spec, source, data_dir) if source and data_dir else {}
    files = tuple(
        FileReport(file.name, tuple(map(str, paths)), file.status(paths), file.url) for file, paths in found.items()
    )
    try:
        suite = load_suite(name, data_dir)
        questions = sum(1 for _ in suite.tasks())
    except DataError as error:
        state = "broken" if any(found.values()) or _has_other(spec, data_dir) else "missing"
        return SuiteReport(name, state, None, spec.expected, str(error), files)
    state = "complete" if suite.expected in (None, questions) else "partial"
    return SuiteReport(name, state, questions, suite.expected, " ".join(suite.notes), files)


def _check_folder(folder: Path) -> SuiteReport:
    try:
        data = read_own(folder)
        if not data.problems:
            load_suite(str(folder), None)
    except DataError as error:
        return SuiteReport(str(folder), "missing", None, None, str(error), ())
    lines = sum(len(history.observations) for history in data.histories.values())
    title = f"{data.about.title}: " if data.about.title else ""
    detail = f"{title}lines in {len(data.histories)} histories: {lines:,}; metrics: {', '.join(data.about.metrics)}"
    if data.idle:
        detail += f"; histories without a question: {data.idle}"
    if data.problems:
        detail = f"mistakes: {len(data.problems)}"
    state = "broken" if data.problems else "complete"
    return SuiteReport(data.name, state, len(data.tasks), None, detail, (), data.problems)


def _has_other(spec: SuiteSpec, data_dir: Path | None) -> bool:
    """Whether there is something to load that is no official file: the parameters, or a file of another package."""
    return not spec.files or bool(data_dir and find_file(data_dir, spec.folder, *spec.files))


def fetch_suites(names: Iterable[str], data_dir: Path, progress: Progress) -> list[Fetched]:
    """Download the official files that `data_dir` does not have; what is there is never touched.

    UserError, before anything is done, for a suite that has none; later for the first file that is not to be had,
    when those before it stay.
    """
    sources = {}
    for name in names:
        base, spec = name.partition(":")[0], suite_spec(name)
        if base not in SOURCES:
            raise UserError(f"{base} has no official files to fetch ({spec.origin})")
        sources[base] = (spec, SOURCES[base])
    return [file for base, (spec, source) in sources.items() for file in _fetch(base, spec, source, data_dir, progress)]


def _fetch(suite: str, spec: SuiteSpec, source: SuiteSource, data_dir: Path, progress: Progress) -> Iterator[Fetched]:
    statuses = {file: file.status(paths) for file, paths in local_files(spec, source, data_dir).items()}
    wanted = [
        file
        for file, status in statuses.items()
        if status is not Status.OFFICIAL and not (data_dir / file.name).exists()
    ]
    if wanted:
        told = f"{suite}: {source.origin} at {source.revision}, licence {source.licence}"
        progress.console.print(told, markup=False, highlight=False)
    for file, status in statuses.items():
        if file not in wanted:
            yield Fetched(suite, file.name, "kept", status)
            continue
        target = data_dir / file.name
        try:
            download(file, target, progress)
        except httpx.HTTPError as error:
            raise UserError(_unavailable(error, file, target)) from error
        except OSError as error:
            raise UserError(f"{target} cannot be written: {error}") from error
        used = local_files(spec, source, data_dir)[file][0]
        note = "" if used == target else f"{used.name} is read in its place: move it away to use this file"
        yield Fetched(suite, file.name, "fetched", Status.OFFICIAL if file.sha256 else Status.UNKNOWN, note)


def download(file: OfficialFile, target: Path, progress: Progress) -> None:
    """Fetch a file to `target`, which holds the whole official file afterwards or is not there.

    httpx.HTTPError where it cannot be had, OSError where it cannot be written, UserError where its hash is wrong.
    """
    # Compressed for the way, a length would not be the file's.
    headers = {"Accept-Encoding": "identity"}
    digest = hashlib.sha256()
    with httpx.stream("GET", file.url, headers=headers, follow_redirects=True, timeout=TIMEOUT) as response:
        response.raise_for_status()
        size = response.headers.get("Content-Length")
        task = progress.add_task(file.name, total=int(size) if size else None)
        with _replacing(target) as out:
            for chunk in response.iter_bytes():
                out.write(chunk)
                digest.update(chunk)
                progress.advance(task, len(chunk))
            progress.remove_task(task)
            if file.sha256 not in (None, digest.hexdigest()):
                raise UserError(
                    f"{file.url} is not the official file: its sha256 is {digest.hexdigest()}, "
                    f"not {file.sha256}; nothing was kept"
                )


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """A file that becomes `target` when the block ends well, and leaves nothing behind when it does not."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as out:
            yield out
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _unavailable(error: httpx.HTTPError, file: OfficialFile, target: Path) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        reason = f"answers {error.response.status_code} {error.response.reason_phrase}"
    else:
        reason = f"cannot be had ({one_line(str(error)) or type(error).__name__})"
    return (
        f"{file.url} {reason}: get it by other means and put it at {target} (`rdf data list --json` has all addresses)"
    )


def bars(quiet: bool) -> Progress:
    """A bar a download on a terminal's stderr, nothing elsewhere."""
    console = Console(stderr=True, soft_wrap=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=quiet or not console.is_terminal)


def file_rows(source: SuiteSource | None) -> list[dict[str, str | None]]:
    """The official files as `--json` shows them."""
    return [{"file": f.name, "url": f.url, "sha256": f.sha256} for f in source.files] if source else []


def file_table(report: SuiteReport) -> list[tuple[str, str, str, str]]:
    """Suite, file, status and what was found; the missing files are one row."""
    rows = [
        (report.suite, file.file, str(file.status), ", ".join(Path(path).name for path in file.found))
        for file in report.files
        if file.found
    ]
    missing = [file.file for file in report.files if not file.found]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        rows.append((report.suite, missing[0] + more, str(Status.MISSING), ""))
    return rows

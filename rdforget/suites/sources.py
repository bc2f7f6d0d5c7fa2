"""The suites' official files: where each is published, where it belongs in the data folder, and its hash."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import yaml

from rdforget.suites.base import find_file, find_parts
from rdforget.suites.registry import SuiteSpec


class Status(StrEnum):
    """What stands in the data folder for an official file."""

    OFFICIAL = "official"
    """The same content, under whatever name and gzip-compressed or not."""
    DIFFERS = "differs from the official file"
    PART = "part"
    """Files with a tag before their extension, which hold a part of the official one."""
    UNKNOWN = "no official hash known"
    UNREADABLE = "cannot be read"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """One published file."""

    folder: str
    path: str
    """Below `folder`, with slashes."""
    url: str
    sha256: str | None
    """Of the whole file, uncompressed; None where it is not known for this revision."""

    @property
    def name(self) -> str:
        """Where the file belongs in the data folder."""
        return f"{self.folder}/{self.path}"

    def is_part(self, path: Path) -> bool:
        """Whether `path` is named as a part of this file: `name.TAG.ext` of `name.ext`."""
        stem, _, extension = PurePosixPath(self.path).name.rpartition(".")
        return fnmatchcase(path.name.removesuffix(".gz"), f"{stem}.*.{extension}")

    def status(self, paths: tuple[Path, ...]) -> Status:
        """What `paths`, found by `local_files`, are; reads them whole."""
        if not paths:
            return Status.MISSING
        if any(map(self.is_part, paths)):
            return Status.PART
        if self.sha256 is None:
            return Status.UNKNOWN
        try:
            return Status.OFFICIAL if content_sha256(paths[0]) == self.sha256 else Status.DIFFERS
        except (OSError, EOFError, zlib.error):
            return Status.UNREADABLE


@dataclass(frozen=True, slots=True)
class SuiteSource:
    """Where a suite comes from."""

    origin: str
    licence: str
    """Of the data."""
    revision: str
    """Commit of the repository or of the hub's data set, all 40 digits."""
    url: str
    """With the fields `{revision}` and `{file}`."""
    folder: str
    hashes: Mapping[str, str | None]
    """sha256 by path below `folder`."""

    @property
    def files(self) -> tuple[OfficialFile, ...]:
        return tuple(
            OfficialFile(self.folder, path, self.url.format(revision=self.revision, file=path), sha256)
            for path, sha256 in self.hashes.items()
        )


def _read() -> dict[str, SuiteSource]:
    data = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return {suite: SuiteSource(hashes=entry.pop("files"), **entry) for suite, entry in data.items()}


SOURCES = _read()
"""By suite; generated suites have none."""


def local_files(spec: SuiteSpec, source: SuiteSource, data_dir: Path) -> dict[OfficialFile, tuple[Path, ...]]:
    """What a loader reads in the place of each official file: one whole file, parts of it, or nothing.

    A suite of one file may have it in every form that its `spec` names. Reads no content.
    """
    if len(source.files) == 1 and (path := find_file(data_dir, spec.folder, *spec.files)):
        return {source.files[0]: (path,)}
    return {file: _find(file, data_dir) for file in source.files}


def _find(file: OfficialFile, data_dir: Path) -> tuple[Path, ...]:
    for root in (data_dir / file.folder, data_dir):
        path = root / file.path
        if found := find_parts(path.parent, "", path.name):
            return found
    return ()


def content_sha256(path: Path) -> str:
    """Of what a file holds once it is uncompressed. OSError, EOFError or zlib.error where it cannot be read."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

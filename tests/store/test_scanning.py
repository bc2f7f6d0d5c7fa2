"""The byte search: what it finds is what a plain search finds, wherever a string lies in a file."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdforget.store import scanning
from rdforget.store.scanning import CONTEXT, SHORTEST, Sieve, scan, search


def plain(data: bytes, strings: list[bytes]) -> Counter[tuple[int, bytes, bytes]]:
    return Counter(
        (number, data[max(at - CONTEXT, 0) : at], data[at + len(string) : at + len(string) + CONTEXT])
        for number, string in enumerate(strings)
        for at in range(len(data))
        if data.startswith(string, at)
    )


few_letters = st.binary(max_size=200).map(lambda data: bytes(byte % 3 for byte in data))


@given(st.lists(few_letters.filter(lambda s: len(s) >= SHORTEST), max_size=8, unique=True), few_letters, st.data())
def test_the_sieve_finds_what_a_plain_search_finds(strings: list[bytes], data: bytes, more: st.DataObject) -> None:
    if strings:
        planted = more.draw(st.lists(st.sampled_from(strings), max_size=3))
        data += b"".join(string[: more.draw(st.integers(1, len(string)))] + string for string in planted)
    assert Counter(Sieve(strings).finds(data, 0, len(data))) == plain(data, strings)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_a_string_across_the_border_of_two_reads_is_found_once(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_CHUNK", chunk)
    strings = [b"canary", b"canary-in-a-mine", b"\0\1\2\3\4\5\6\7"]
    data = b"".join(b"x" * gap + strings[gap % 3] for gap in range(60))
    (tmp_path / "file").write_bytes(data)
    assert search([str(tmp_path)], strings).finds[str(tmp_path / "file")] == plain(data, strings)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"user=ann", True),
        (b'"ann"', True),
        (b"hannah", False),
        (b"anna", False),
        (b"ann\0", False),  # no file of text
    ],
)
def test_a_short_string_counts_as_a_word_of_a_text(content: bytes, found: bool, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(content)
    assert bool(search([str(tmp_path)], [b"ann"]).finds) == found


def test_names_are_searched_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"a canary sings")
    folder = tmp_path / "folder"
    (folder / "of canary").mkdir(parents=True)
    (folder / "of canary" / "file").write_bytes(b"")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    result = search([str(folder)], [b"canary"])
    assert [*result.finds] == [str(folder / "of canary" / "file")]
    assert (result.files, result.bytes) == (1, 0)


def test_another_process_reads_a_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a canary sings")
    here = search([str(tmp_path), str(tmp_path / "file")], [b"canary"])
    assert scan([tmp_path, tmp_path / "file"], [b"canary"]) == here
    assert (here.files, here.bytes) == (2, 28)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "file").chmod(0)
    assert search([str(tmp_path)], [b"canary"]).unread == (str(tmp_path / "file"),)


def test_a_process_that_cannot_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning.sys, "executable", str(tmp_path / "none"))
    with pytest.raises(scanning.ScanError, match="could be started"):
        scan([tmp_path], [b"canary"])

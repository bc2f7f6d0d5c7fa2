"""The report as a folder: a static shell, data as scripts, figures. It is built beside and put in place whole."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import rdforget
from runners.errors import UserError
from runners.journal import FILE as JOURNAL
from runners.manifest import FILE as MANIFEST
from runners.report.overview import index_of
from runners.report.payload import script, visible
from runners.report.reading import Read, read_run
from runners.runs import find_run
from runners.sweeps import against, find_sweep

MARKER = "report.json"
"""The file by which a folder is known as a report, which may be replaced."""
_ASSETS = files("runners.report") / "assets"
_FIGURES = {
    "figure3": "Scores of the full method and its ablations, with the points that each ablation loses",
    "rate-distortion": "Score, and tokens of the view, over the budget",
    "forest": "Paired differences of every run to rd-forget",
}
"""What a figure shows, by the first part of its name."""


def folders_of(names: Sequence[str], root: Path) -> list[Path]:
    """The run folders that are meant, each once; a sweep stands for all its runs. UserError where there is none."""
    found: list[Path] = []
    for name in names:
        try:
            found.append(find_run(name, root))
        except UserError as no_run:
            try:
                found += _runs_of(find_sweep(name, root))
            except UserError:
                raise no_run from None
    return list(dict.fromkeys(found))


def newest(root: Path) -> Path:
    """The run or sweep that began last. UserError where there is none."""
    runs = {path.parent for path in root.rglob(JOURNAL)}
    found = {run.parent if (run.parent / MANIFEST).is_file() else run for run in runs}
    if not found:
        raise UserError(f"{root} holds no run: make one with `rdf run`, or say where they are with --results")
    return max(found, key=lambda folder: folder.name)  # names begin with the time


def title_of(folders: Sequence[Path]) -> str:
    parents = {folder.resolve().parent for folder in folders}
    sweep = next(iter(parents))
    if len(folders) > 1 and len(parents) == 1 and (sweep / MANIFEST).is_file():
        return sweep.name
    return folders[0].resolve().name if len(folders) == 1 else f"{len(folders)} runs"


def write_report(folders: Sequence[Path], data_dir: Path | None, out: Path) -> None:
    """Write the report of some runs to `out`, which is new, empty, or an earlier report. UserError otherwise."""
    check_place(out)
    out = out.resolve()
    part = old = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        build(folders, data_dir, part)
        part.chmod(0o777 & ~_umask())
        if out.exists():
            old = part.with_name(f"{part.name}-old")
            out.rename(old)
        part.rename(out)
    except OSError as error:
        if old and old.exists() and not out.exists():
            old.rename(out)
        raise UserError(f"{out} cannot hold the report ({error.strerror}): give another --out") from error
    finally:
        for folder in (part, old):
            if folder and folder.exists() and folder != out:
                shutil.rmtree(folder, ignore_errors=True)


def check_place(out: Path) -> None:
    """UserError where `out` is something that a report must not replace."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UserError(f"{out} is not a folder: give another --out")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError(f"{out} is no report (it has no {MARKER}) and is not replaced: give another --out")


def build(folders: Sequence[Path], data_dir: Path | None, out: Path, *, live: bool = False) -> list[Read]:
    """Write every file of the report into a folder that is there; a live one has no figures while a run goes on."""
    data = out / "data"
    data.mkdir(exist_ok=True)

    def write(name: str, value: Any) -> str:
        text = script(name, value)
        (data / f"{name}.js").write_text(text, "ascii")
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    reads = [read_run(number, folder, data_dir, write) for number, folder in enumerate(folders)]
    going_on = live and any(read.measured.cell.n_missing for read in reads)
    figures = [] if going_on else _draw(reads, out / "figures")
    write("index", index_of(reads, title_of(folders), live=live, figures=figures))
    for asset in _ASSETS.iterdir():
        (out / asset.name).write_bytes(asset.read_bytes())
    marker = {"made by": "rdf report", "rdforget": rdforget.__version__, "runs": [read.measured.id for read in reads]}
    (out / MARKER).write_text(json.dumps(marker, indent=2) + "\n", "utf-8")
    return reads


def _runs_of(sweep: Path) -> Iterator[Path]:
    return (path.parent for path in sorted(sweep.glob(f"*/{JOURNAL}")))


def _draw(reads: Sequence[Read], folder: Path) -> list[dict[str, str]]:
    """The figures of `rdf tables` that the runs have the data of."""
    if len(reads) == 1:
        return []
    from runners.figures import draw

    folder.mkdir()
    runs = [read.measured for read in reads]
    drawn = draw(runs, against(runs, "rd-forget"), "rd-forget", folder)
    for path in drawn:
        if path.suffix == ".png":
            path.unlink()
    return [
        {
            "file": f"figures/{path.name}",
            "name": visible(path.stem),
            "alt": next(told for name, told in _FIGURES.items() if path.stem.startswith(name)),
        }
        for path in drawn
        if path.suffix == ".svg"
    ]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

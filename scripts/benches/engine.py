"""What a run costs besides its calls, and the same items through inspect-ai."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path

from rdforget.tokens import vocabulary_dir
from scripts.benches.measuring import CHILD, RDF, ROOT, SCRIPTED, Options, Process, Row, measure, median, scratch, told

SUITE = "synthetic-fc:facts=600,questions=1000,seed=1"
CALLS = 4
_ENV = {"PYTHONPATH": str(ROOT)}


def scripted(options: Options) -> Iterator[Row]:
    """The four calls of a question with a backend that takes no time, and inspect-ai's mock model beside it."""
    with scratch() as folder:
        made = measure((*CHILD, "replies", SUITE, "1000", "replies.sqlite", "said.json"), folder, _ENV).told()
        items = made["items"]
        few = _run(folder, options, 100)
        many = _run(folder, options, items)
        each = 1000 * (many.cpu - few.cpu) / (items - 100)
        yield Row("four-call path, CPU a question", f"{each:.2f} ms", "at most 5 ms", each <= 5)
        whole = f"{items:,} questions, {CALLS * items:,} calls, whole process"
        yield Row(f"{whole}: time", f"{many.wall:.2f} s", "at most 4 s", many.wall <= 4)
        yield Row(f"{whole}: memory", f"{many.peak:.0f} MB", "at most 120 MB", many.peak <= 120)
        python = _inspect(options.cache)
        env = {"TIKTOKEN_CACHE_DIR": str(vocabulary_dir())}  # it would fetch the vocabulary that it counts with
        other = median((str(python), str(ROOT / "scripts/benches/inspect_task.py"), "said.json"), folder, 3, env)
        assert other.told() == {"status": "success", "samples": items}
        ratio = other.wall / many.wall
        yield Row(f"the same {items:,} items and calls, inspect-ai's mock model: time", f"{other.wall:.1f} s")
        yield Row("samples a second, times those of inspect-ai", f"{ratio:.1f}", "at least 10", ratio >= 10)
        yield Row("CPU, share of inspect-ai's", f"{100 * many.cpu / other.cpu:.0f} %")


def _run(folder: Path, options: Options, questions: int) -> Process:
    model = "openai/scripted"
    words = ("run", "--suite", SUITE, "--model", model, "--judge", model, "--no-cache", "--quiet", "--limit")
    return median((*SCRIPTED, "replies.sqlite", *words, str(questions)), folder, options.runs, _ENV)


def _inspect(cache: Path) -> Path:
    """The Python of inspect-ai's own environment, made where there is none."""
    python = cache / "inspect-ai" / "bin" / "python"
    if not python.is_file():
        venv.create(cache / "inspect-ai", with_pip=True)
        subprocess.run((python, "-m", "pip", "install", "--quiet", "inspect-ai"), check=True)
    return python


def parts(options: Options) -> Iterator[Row]:
    """Start-up, the scan before a resume, ranking and packing, and a long history."""
    with scratch() as folder:
        help_ = median((*RDF, "--help"), folder, options.runs, _ENV)
        yield Row("rdf --help", f"{help_.wall:.2f} s, {help_.peak:.0f} MB", "at most 0.25 s", help_.wall <= 0.25)
        measure((*CHILD, "journal", "synthetic-fc:facts=300,questions=200,seed=1", "10000", "run"), folder, _ENV)
        scan = [measure((*CHILD, "resume", "run"), folder, _ENV).told() for _ in range(options.runs)]
        took = sorted(one["seconds"] for one in scan)[len(scan) // 2]
        yield Row("scan of 10,000 records before a resume", f"{took:.2f} s", "at most 1 s", took <= 1)
    ranked = told(options.runs, "ranking", "100000")
    yield from _ranking(ranked)
    big = "synthetic-chat:chats=1,sessions=2500,turns=100,people=200,facts=2000,questions=200"
    found = told(1, "history", big)
    what = f"a history of {found['tokens']:,.0f} tokens counted and cut into chunks"
    yield Row(what, f"{found['first']:.1f} s, again {found['again']:.1f} s")


def _ranking(ranked: Mapping[str, float]) -> Iterator[Row]:
    what = "ranking and packing of 100,000 entries"
    for name, words in (("first", "entries never seen"), ("next", "another question over them")):
        yield Row(f"{what}, {words}", f"{ranked[name]:.2f} s", "at most 0.3 s", ranked[name] <= 0.3)


def commands(options: Options) -> Iterator[Row]:
    """Whole commands with the rules reader."""
    cases = [("synthetic-fc, 60 questions", ("run", "--suite", "synthetic-fc")), ("sweep demo", ("sweep", "demo"))]
    if options.data:
        data = ("--data-dir", str(options.data))
        cases += [(suite, ("run", "--suite", suite, *data)) for suite in ("mab-fc", "lme-ku", "beam")]
    for name, words in cases:
        with scratch() as folder:
            took = median((*RDF, *words, "--quiet"), folder, options.runs, _ENV)
        yield Row(f"rdf {words[0]}, rules, {name}", f"{took.wall:.1f} s, {took.peak:.0f} MB")


def latency(options: Options) -> Iterator[Row]:
    """The share of its own time that a run adds to its server's: `scripts/latency.py`."""
    for seconds in ("0.05", "0.5", "1.0"):
        with scratch() as folder:
            said = measure(
                (sys.executable, str(ROOT / "scripts/latency.py"), "--latency", seconds, "--json"), folder, _ENV
            ).said
        found = json.loads(said.splitlines()[-1])
        ratio = found["ratio"]
        what = f"run over HTTP, {found['slots']} slots of {1000 * float(seconds):.0f} ms, times the ideal"
        yield Row(what, f"{ratio:.2f}", "at most 1.1", ratio <= 1.1)

"""Which suites there are: one explicit dict, and the entry points of other packages."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from rdforget.plugins import Registry, UnknownNameError
from rdforget.suites.base import DataError, Suite, find_parts


@dataclass(frozen=True, slots=True)
class SuiteSpec:
    """What is known of a suite before anything of it is imported or read."""

    title: str
    loader: str
    """`package.module:function`; the function takes the variant ("" is the default) and the data folder."""
    origin: str
    """Where the data comes from; "generated" where it needs none."""
    licence: str
    variants: str = ""
    """What may stand after the colon of `name:variant`, for help texts."""
    folder: str = ""
    files: tuple[str, ...] = ()
    """File names, one of which in `<data dir>/<folder>` or `<data dir>` will do; none if generated."""
    expected: int | None = None
    """Number of questions in the paper, where it names one."""
    on_hub: bool = True
    """Whether the loader takes the data from the hub when no folder is given."""

    def load(self, variant: str, data_dir: Path | None) -> Suite:
        module, _, function = self.loader.partition(":")
        loader = cast(Callable[[str, Path | None], Suite], getattr(import_module(module), function))
        return loader(variant, data_dir)


SUITES: dict[str, SuiteSpec] = {
    "amb-text": SuiteSpec(
        title="LoCoMo conversation 1 up to each question's session, text only",
        loader="rdforget.suites.amb_text:load",
        origin="github s010m00n/AgentMemoryBench, data/locomo/locomo0.json",
        licence="CC BY-NC 4.0 (LoCoMo)",
        folder="locomo",
        files=("locomo0.json",),
        expected=86,
        on_hub=False,
    ),
    "lme-ku": SuiteSpec(
        title="LongMemEval oracle, knowledge updates",
        loader="rdforget.suites.lme_ku:load",
        origin="hub xiaowu0162/longmemeval-cleaned, longmemeval_oracle.json",
        licence="MIT",
        folder="longmemeval",
        files=("longmemeval_oracle.json",),
        expected=78,
    ),
    "mab-fc": SuiteSpec(
        title="MemoryAgentBench, fact consolidation",
        loader="rdforget.suites.mab_fc:load",
        origin="hub ai-hyz/MemoryAgentBench, split Conflict_Resolution",
        licence="MIT",
        variants="mh_6k (default), sh_6k, and both with 32k, 64k, 262k",
        folder="mab",
        files=(
            "Conflict_Resolution.json",
            "Conflict_Resolution.json.gz",
            "Conflict_Resolution.parquet",
            "Conflict_Resolution-00000-of-00001.parquet",
            "data/Conflict_Resolution-00000-of-00001.parquet",
        ),
        expected=100,
    ),
    "beam": SuiteSpec(
        title="BEAM 100K: updates, contradictions, time and preferences over whole chats",
        loader="rdforget.suites.beam:load",
        origin="hub Mohammadta/BEAM, split 100K; github mohammadtavakoli78/BEAM, chats/100K",
        licence="CC BY-SA 4.0 (stated by the hub's card)",
        variants="truncated (chat_trunecated.json where there is one; folders only)",
        folder="beam",
        files=(
            "100K/1/chat.json",
            "100K.parquet",
            "100K-00000-of-00001.parquet",
            "data/100K-00000-of-00001.parquet",
        ),
        expected=150,
    ),
    "personamem": SuiteSpec(
        title="PersonaMem-v1 32k, four options a question",
        loader="rdforget.suites.personamem:load",
        origin="hub bowen-upenn/PersonaMem-v1, questions_32k.csv and shared_contexts_32k.jsonl",
        licence="MIT",
        folder="personamem",
        files=("questions_32k.csv",),
        expected=579,
    ),
    "synthetic-fc": SuiteSpec(
        title="Made-up fact consolidation of any size",
        loader="rdforget.suites.synthetic_fc:load",
        origin="generated",
        licence="none needed",
        variants="facts=400,revisions=0.3,hops=2,questions=60,historical=0.2,evolution=0.1,seed=7,updates=0",
    ),
    "synthetic-chat": SuiteSpec(
        title="Made-up conversations of any length, with questions for every metric",
        loader="rdforget.suites.synthetic_chat:load",
        origin="generated",
        licence="none needed",
        variants="chats=4,sessions=8,turns=12,people=4,facts=24,updates=0.4,questions=40,options=0.25,historical=0.1,"
        "evolution=0.1,preferences=0.1,retractions=0.05,abstentions=0.1,seed=7",
    ),
}

REGISTRY: Registry[SuiteSpec] = Registry("suite", "rdforget.suites", SUITES)
"""Entry points of the group are `SuiteSpec` objects."""


def _spec(name: str) -> SuiteSpec:
    try:
        return REGISTRY.get(name)
    except UnknownNameError as error:
        raise DataError(str(error)) from error


def is_folder(name: str) -> bool:
    """Whether a suite's name is the path of a folder of own data; a suite that is listed goes first."""
    if os.sep in name or "/" in name:
        return True
    return bool(name) and Path(name).is_dir() and name.partition(":")[0] not in REGISTRY.names()


def load_suite(name: str, data_dir: Path | None) -> Suite:
    """The suite of `name` or `name:variant`, or that of a folder. DataError where it is not to be had."""
    if is_folder(name):
        return _own(name)
    base, _, variant = name.partition(":")
    return _spec(base).load(variant, data_dir)


def is_ready(name: str, data_dir: Path | None) -> str:
    """Whether the data is at hand: `generated`, `local: <file names>` or what is missing. Reads no data."""
    if is_folder(name):
        return f"local: {name}" if Path(name).is_dir() else f"needs the folder {name}"
    spec = _spec(name.partition(":")[0])
    if not spec.files:
        return spec.origin
    for file in spec.files:
        if data_dir and (paths := find_parts(data_dir, spec.folder, file)):
            return f"local: {', '.join(path.name for path in paths)}"
    return "needs --data-dir or network" if spec.on_hub else f"needs `rdf data fetch {name}`"


def _own(name: str) -> Suite:
    from rdforget.suites import own_data

    if own_data.name_of(Path(name)) in REGISTRY.names():
        raise DataError(f"{name} has the name of a suite that is listed: give the folder another name")
    return own_data.load(Path(name))

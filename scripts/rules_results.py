"""Make `results/rules/` anew: the paper's sweeps with the deterministic reader, as tables and figures.

    python scripts/rules_results.py DATA

DATA is a folder with the suites' files. The sweeps' folders go to `results/sweeps` (or are gone on with there); what
is kept in `results/rules` are their tables and figures, where the ablations of Table 2 lose their answers, what stale
rows do to a memory store, and the simulation of one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RDF = [sys.executable, "-m", "runners"]
SWEEPS = {
    "table1": [["--paper"], []],
    "table2": [["--paper"], []],
    "table3": [["--paper"], []],
    "controls": [[]],
    "budget": [[]],
}
FUNNELS = ("mab-fc", "amb-text")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = str(Path(sys.argv[1]).resolve())
    for name, kinds in SWEEPS.items():
        subprocess.run([*RDF, "sweep", name, "--model", "rules", "--data-dir", data, "--quiet"], cwd=ROOT, check=True)
        out = ROOT / "results/rules" / name
        shutil.rmtree(out, ignore_errors=True)
        for kind in kinds:
            subprocess.run([*RDF, "tables", name, *kind, "--out", str(out)], cwd=ROOT, check=True)
    funnels(data)
    memory()


def funnels(data: str) -> None:
    """The loss funnel of RD-Forget and its ablations, from the newest `table2`."""
    sweep = max(ROOT.glob("results/sweeps/*-table2"))
    out = ROOT / "results/rules/funnel"
    shutil.rmtree(out, ignore_errors=True)
    for suite in FUNNELS:
        runs = sorted(map(str, sweep.glob(f"*-{suite}-*")))
        subprocess.run([*RDF, "funnel", *runs, "--data-dir", data, "--out", str(out)], cwd=ROOT, check=True)


def memory() -> None:
    """What `rdf memory` computes without data: the sweep over stale rows, and the simulation."""
    subprocess.run([*RDF, "sweep", "dilution", "--quiet"], cwd=ROOT, check=True)
    for name in ("dilution", "simulate"):
        out = ROOT / "results/rules" / name
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([*RDF, "memory", name, "--out", str(out)], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()

"""`rdf` with a zero-latency backend in every model's place: `python -m scripts.benches.scripted REPLIES run ...`.

REPLIES is a JSON file of replies by the key of their call, as `children.py replies` writes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rdforget.models.scripted import Scripted
from runners import cli, engine


def main() -> None:
    replies = json.loads(Path(sys.argv.pop(1)).read_text("utf-8"))
    backend = Scripted(lambda call: replies[call.key])
    engine.make_backend = lambda *_: backend
    cli.main()


if __name__ == "__main__":
    main()

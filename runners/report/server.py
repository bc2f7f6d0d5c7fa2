"""The report on this computer's own address, built again when a journal has grown."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from runners.errors import UserError
from runners.journal import FILE as JOURNAL
from runners.report.payload import script
from runners.report.site import build

ADDRESS = "127.0.0.1"
_LOOK = 1.0
"""Seconds between two looks at the journals."""
_REST = 4
"""A build is followed by this many times its own duration without one: the run itself needs the processor too."""
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    # Data files are scripts, which a page of any other site could load; these and `Sec-Fetch-Site` say no.
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Followed:
    """The newest build of a report whose runs may still go on."""

    def __init__(self, find: Callable[[], list[Path]], data_dir: Path | None, root: Path) -> None:
        self._find, self._data_dir, self._root = find, data_dir, root
        self._seen: object = None
        self._builds: list[Path] = []
        self.generation = 0
        self.files: dict[str, Path] = {}
        """By the path that a browser asks for."""

    def refresh(self) -> bool:
        """Build anew if there is something new, and tell whether there was."""
        folders = self._find()
        seen = [_state(folder) for folder in folders]
        if seen == self._seen:
            return False
        folder = Path(tempfile.mkdtemp(dir=self._root))
        try:
            build(folders, self._data_dir, folder, live=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        self.generation, self._seen = self.generation + 1, seen
        self._builds.append(folder)
        for old in self._builds[:-2]:  # the last but one may still be on its way to a browser
            shutil.rmtree(old, ignore_errors=True)
            self._builds.remove(old)
        return True


def follow(followed: Followed) -> None:
    """Look for what is new until the process is interrupted."""
    while True:
        time.sleep(_LOOK)
        began = time.monotonic()
        try:
            built = followed.refresh()
        except UserError:  # a run that has just begun; it is looked at again
            continue
        if built:
            time.sleep(_REST * (time.monotonic() - began))


@contextmanager
def following(find: Callable[[], list[Path]], data_dir: Path | None) -> Iterator[Followed]:
    """A first build in a temporary folder, which goes with the context."""
    with tempfile.TemporaryDirectory(prefix="rdf-view-", ignore_cleanup_errors=True) as root:
        followed = Followed(find, data_dir, Path(root))
        followed.refresh()
        yield followed


@contextmanager
def serving(followed: Followed, port: int) -> Iterator[str]:
    """The address under which the report is served. UserError where the port is not to be had."""
    try:
        server = ThreadingHTTPServer((ADDRESS, port), partial(_Handler, followed))
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port} cannot be used ({error}): give another --port, or 0 for a free one") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Known files to a browser on this computer; nothing else to anybody."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rdf", ""
    timeout = 30

    def __init__(self, followed: Followed, *args: object) -> None:
        self._followed = followed
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: object) -> None: ...

    def _answer(self, *, with_body: bool) -> None:
        status, kind, body = self._found()
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _found(self) -> tuple[HTTPStatus, str, bytes]:
        port = cast(tuple[str, int], self.server.server_address)[1]
        # Another name that leads here is another site's: it must not read the answer as its own.
        if self.headers.get("Host") not in (f"{ADDRESS}:{port}", f"localhost:{port}"):
            return HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"This is not the host that was asked for.\n"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return HTTPStatus.FORBIDDEN, "text/plain", b"Not for pages of other sites.\n"
        name = urlsplit(self.path).path.removeprefix("/") or "index.html"
        if name == "data/live.js":
            return HTTPStatus.OK, _KINDS[".js"], script("live", self._followed.generation).encode()
        path = self._followed.files.get(name)
        try:
            body = path.read_bytes() if path else None
        except OSError:  # of a build that has just gone
            body = None
        if path is None or body is None:
            return HTTPStatus.NOT_FOUND, "text/plain", b"There is no such file.\n"
        return HTTPStatus.OK, _KINDS.get(path.suffix, "application/octet-stream"), body


def _state(folder: Path) -> Sequence[object]:
    """What changes when a run writes."""
    states: list[object] = [folder]
    for name in (JOURNAL, f"{JOURNAL}-wal"):
        try:
            stat = (folder / name).stat()
        except OSError:
            states.append(None)
        else:
            states.append((stat.st_size, stat.st_mtime_ns))
    return states

"""An OpenAI-compatible chat-completions server on this machine's loopback, for tests over real HTTP.

    with serve(lambda request, n: said(request, "Orla")) as server:
        ... requests to server.url ...
    assert server.requests[0].json["temperature"] == 0

A script is asked once a request, with the request's JSON and its number from 0, and says what to answer.
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_SHAPE = re.compile(r'Reply with one JSON object and nothing else:\s*\{"(\w+)"')
_ROLES = {
    "active": "curate",
    "ids": "select",
    "answer": "answer",
    "verdict": "judge",
    "grade": "rubric",
    "observations": "reflect",
    "operations": "revise",
    "items": "distill",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    json: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """What the server sends back."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the answer; cut short when the server closes."""
    pace: float = 0.0
    """Seconds between one byte of the body and the next; 0 sends it whole."""
    reset: bool = False
    """Break the connection instead of answering."""
    cut: int | None = None
    """Bytes of the body after which the connection is broken, though more are announced."""


Script = Callable[[dict[str, Any], int], Response]


def said(
    request: dict[str, Any],
    content: str | None,
    *,
    finish_reason: str = "stop",
    reasoning: str | None = None,
    usage: Mapping[str, Any] | None = None,
    delay: float = 0.0,
) -> Response:
    """A completion. Without `usage`, tokens are counted as characters // 4, reasoning in the completion's."""
    prompt = sum(len(message["content"]) for message in request["messages"]) // 4
    spoken = len((reasoning or "") + (content or "")) // 4
    message = {"role": "assistant", "content": content}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    counted = {"prompt_tokens": prompt, "completion_tokens": spoken, "total_tokens": prompt + spoken}
    return replace(completion(request, [choice], usage or counted), delay=delay)


def completion(request: dict[str, Any], choices: list[dict[str, Any]], usage: Mapping[str, Any]) -> Response:
    """A completion of these choices, whatever they are."""
    body = {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": choices,
        "usage": usage,
    }
    return Response(body=json.dumps(body).encode())


def no_choices(request: dict[str, Any]) -> Response:
    """A completion without a choice, as overloaded gateways send it with status 200."""
    return completion(request, [], {})


def failed(
    status: int,
    message: str = "scripted failure",
    *,
    code: str | None = None,
    retry_after: float | None = None,
) -> Response:
    """An error in the form OpenAI sends it."""
    body = json.dumps({"error": {"message": message, "type": "scripted", "param": None, "code": code}})
    return Response(status, body.encode(), {} if retry_after is None else {"Retry-After": str(retry_after)})


class Faults:
    """A script of which a share of the requests goes wrong, in every way in which providers do.

    What happens to a request hangs on its messages and on how often they came, so that it is the same in every run,
    in whatever order requests arrive.
    """

    def __init__(self, script: Script, share: float, seed: int = 0) -> None:
        self.seen: Counter[str] = Counter()
        """Faults by their names."""
        self._script = script
        self._share = share
        self._seed = seed
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any], n: int) -> Response:
        said_before = json.dumps(request["messages"])
        with self._lock:
            self._times[said_before] += 1
            chance = random.Random(f"{self._seed} {self._times[said_before]} {said_before}")
            name = chance.choice(list(FAULTS)) if chance.random() < self._share else ""
            self.seen[name] += 1
        return FAULTS[name](request, self._script(request, n)) if name else self._script(request, n)


FAULTS: Mapping[str, Callable[[dict[str, Any], Response], Response]] = {
    "429": lambda request, right: failed(429),
    "429, retry after": lambda request, right: failed(429, retry_after=0.01),
    "429, retry after a date": lambda request, right: replace(
        failed(429), headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    ),
    "500": lambda request, right: failed(500),
    "503, retry after": lambda request, right: failed(503, retry_after=0.01),
    "reset": lambda request, right: Response(reset=True),
    "no answer": lambda request, right: replace(right, delay=60),
    "cut connection": lambda request, right: replace(right, cut=len(right.body) // 2),
    "cut body": lambda request, right: replace(right, body=right.body[: len(right.body) // 2]),
    "garbage": lambda request, right: Response(body=b"<html>\xff\xfe busy</html>"),
    "error with status 200": lambda request, right: Response(body=b'{"error": {"message": "busy", "code": 529}}'),
    "no choices": lambda request, right: no_choices(request),
    "null": lambda request, right: said(request, None),
    "broken off": lambda request, right: said(request, '{"answer": "Or', finish_reason="error"),
    "no usage": lambda request, right: replace(right, body=_without_usage(right.body)),
}
"""Ways to go wrong: each makes a response of a request and of what should have been said."""


def _without_usage(body: bytes) -> bytes:
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return json.dumps(json.loads(body) | {"usage": zero}).encode()


def role_of(request: dict[str, Any]) -> str:
    """`curate`, `select`, `answer` or `judge`, by the reply shape that the system message asks for."""
    system = "\n".join(m["content"] for m in request["messages"] if m["role"] == "system")
    found = _SHAPE.search(system)
    if not found or found[1] not in _ROLES:
        raise AssertionError(f"no known reply shape in the system message: {system[-200:]!r}")
    return _ROLES[found[1]]


class Server(ThreadingHTTPServer):
    """The server that `serve` starts; `requests` grows in order of arrival."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._script = script
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()

    @property
    def url(self) -> str:
        """Base address for clients: the part before `/chat/completions`."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def respond(self, request: Request) -> Response:
        """Take note of the request and ask the script."""
        with self._lock:
            n = len(self.requests)
            self.requests.append(request)
        return self._script(request.json, n)

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news; anything else is a fault of the test's script."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def stop(self) -> None:
        """Give up waiting answers and kept-alive connections, and free the port."""
        self.closing.set()
        self.shutdown()
        with self._lock:
            for connection in self._connections:
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


@contextmanager
def serve(script: Script) -> Iterator[Server]:
    """A running server on a free port of 127.0.0.1."""
    server = Server(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"  # keeps connections alive
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.closed(self.connection)
        super().finish()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(Request(self.path, headers, json.loads(body)))
        if response.delay and self.server.closing.wait(response.delay):
            self.close_connection = True
        elif response.reset:
            # Lingering for 0 seconds turns the close into a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        else:
            self._send(response)

    def _send(self, response: Response) -> None:
        try:
            self.send_response(response.status)
            headers = {"Content-Type": "application/json", **response.headers}
            for name, value in (headers | {"Content-Length": str(len(response.body))}).items():
                self.send_header(name, value)
            self.end_headers()
            size = 1 if response.pace else max(len(response.body), 1)
            for at in range(0, len(response.body), size):
                self.wfile.write(response.body[at : at + size][: response.cut])
                self.server.closing.wait(response.pace)
            self.close_connection |= response.cut is not None
        except ConnectionError:  # the client gave up first
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet: `requests` is the log."""

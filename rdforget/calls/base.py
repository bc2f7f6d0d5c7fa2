"""A call and its prompt.

A `Call` has two renderings of one request: `inputs`, typed, which a backend without a language model
answers from, and `messages`, which a language model answers from. Both kinds of answer pass the same parser.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from string import Template
from typing import Any, Literal

from rdforget.records import Attempts, CallRecord, Usage

PROMPTS = Path(__file__).parent / "prompts"


SAMPLING: Mapping[str, Any] = {"temperature": 0.0}
"""What every call samples with, unless a method's options say otherwise."""


class PromptError(ValueError):
    """A prompt file lacks a section, or its placeholders and the values given do not match."""


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str
    shared: int = 0
    """Length of the beginning that calls for other questions have in common, so that a provider can cache it."""


@dataclass(frozen=True)
class Call:
    """One request to a backend.

    `sampling` holds only what shapes the reply (temperature, top_p); a backend's parameter policy
    may drop or change it and then reports what it sent.
    """

    role: str
    inputs: object
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_output_tokens: int
    sampling: Mapping[str, Any] = field(default_factory=lambda: dict(SAMPLING))
    repeat: int = 0

    @cached_property
    def key(self) -> str:
        """sha256 over everything that a model is shown and told, independent of field order."""
        content = {
            "role": self.role,
            "messages": [[m.role, m.content] for m in self.messages],
            "schema": self.schema,
            "max_output_tokens": self.max_output_tokens,
            "sampling": dict(self.sampling),
            "repeat": self.repeat,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a backend answered; `text` is never the model's reasoning."""

    text: str
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    source: Literal["asked", "cache"] = "asked"
    """As `CallRecord.source`."""
    attempts: Attempts = field(default_factory=Attempts)
    seconds: float = field(default=0.0, compare=False)
    """How long its requests were under way, those that failed included and waits for a turn left out: no two runs are
    alike in it, and records do not hold it."""

    def record(self, role: str, key: str) -> CallRecord:
        """What account is kept of it."""
        return CallRecord(
            role, key, self.model, self.finish_reason, self.usage, self.params, self.source, self.attempts
        )


Caller = Callable[[Call], Awaitable[Reply]]
"""Asks a backend and keeps account; what methods and stages get instead of a backend."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: sections headed by a line `[name]`, with `$name` placeholders."""

    name: str
    sections: Mapping[str, str]

    def fill(self, section: str, **values: str) -> str:
        """The section with its placeholders filled; a missing or an extra value is an error."""
        if section not in self.sections:
            raise PromptError(f"prompt {self.name} has no section [{section}]")
        template = Template(self.sections[section])
        wanted = set(template.get_identifiers())
        if wanted != set(values) or not template.is_valid():
            raise PromptError(
                f"prompt {self.name} [{section}] has the placeholders {sorted(wanted)}, given were {sorted(values)}"
            )
        return template.substitute(values)


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt file of a role."""
    parts = re.split(r"^\[([a-z-]+)\]\n", (PROMPTS / f"{name}.txt").read_text("utf-8"), flags=re.MULTILINE)
    sections = {head: body.strip() for head, body in zip(parts[1::2], parts[2::2], strict=True)}
    if parts[0].strip() or not sections:
        raise PromptError(f"prompt {name} does not begin with a [section] line")
    return Prompt(name, sections)


@cache
def prompts_digest(*names: str) -> str:
    """sha256 over the named prompt files, or all of them: part of what a run measured."""
    digest = hashlib.sha256()
    for path in [PROMPTS / f"{name}.txt" for name in names] or sorted(PROMPTS.glob("*.txt")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()

"""Messages as the text that a model was trained to see: the chat template of its file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rdforget.calls.base import Message

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt."""

    text: str
    beginnings: tuple[str, ...]
    """Where it may go on otherwise in other calls: after the system message, and after what calls share of the next."""


@dataclass(frozen=True, slots=True)
class Chat:
    template: Template
    bos: str
    eos: str
    marks: tuple[str, ...]
    """Texts of the model's control tokens, which content must not give."""

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """The messages rendered; a template without a system role gets its text at the head of the first other one."""
        from jinja2 import TemplateError

        messages = [replace(one, content=_defused(one.content, self.marks)) for one in messages]
        try:
            text = self._render(messages)
        except TemplateError:
            messages = _without_system(messages)
            text = self._render(messages)
        return Prompt(text, tuple(_beginnings(text, messages)))

    def _render(self, messages: Sequence[Message]) -> str:
        return self.template.render(
            messages=[{"role": one.role, "content": one.content} for one in messages],
            bos_token=self.bos,
            eos_token=self.eos,
            add_generation_prompt=True,
        )


def chat(template: str, bos: str, eos: str, marks: Collection[str]) -> Chat:
    """A chat template, made safe: it is code out of a model's file. It gets no clock, so that prompts do not change."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> Any:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    return Chat(environment.from_string(template), bos, eos, tuple(mark for mark in marks if len(mark) > 2))


def _defused(text: str, marks: Sequence[str]) -> str:
    """The text with a space in whatever would be read as a control token: a conversation may quote one."""
    for mark in marks:
        if mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


def _without_system(messages: Sequence[Message]) -> list[Message]:
    head, *rest = messages
    if head.role != "system" or not rest:
        return list(messages)
    lead = f"{head.content}\n\n"
    shared = rest[0].shared and len(lead) + rest[0].shared
    return [replace(rest[0], content=lead + rest[0].content, shared=shared), *rest[1:]]


def _beginnings(text: str, messages: Sequence[Message]) -> list[str]:
    """The beginnings of the text that other calls may have too, the shortest first."""
    found, at = [], 0
    for message in messages:
        shared = message.content[: message.shared] if message.shared else message.content
        at = text.find(shared.strip(), at)
        if at < 0 or (message.role != "system" and not message.shared):
            break
        at += len(shared.strip())
        found.append(text[:at])
    return found

"""The contract of a memory construction method, and of the builder that makes one from its options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from rdforget.calls.base import Caller
from rdforget.errors import MendableError
from rdforget.plugins import nearest
from rdforget.records import Entry, Gold, History, Memory, Protocol, Query, Switches
from rdforget.view.rank import rank

O = TypeVar("O")  # noqa: E741  # options of a builder

Remember = Callable[[History, Query | None, Caller, Switches, Protocol], Awaitable[Memory]]
"""History in, memory out; deterministic given the replies. `query` is None for query-agnostic methods."""

Rank = Callable[[Sequence[Entry], Query], tuple[Entry, ...]]
"""The order in which eligible entries are offered to the collector, most relevant first."""


@dataclass(frozen=True, slots=True)
class Method:
    """How memory is built, and what little of the shared path differs. Selector, packer and answerer are shared."""

    name: str
    title: str
    remember: Remember
    sees_query: bool = False
    """Whether construction is conditioned on the question; -QC turns it off."""
    empty: Literal["lexical", "none"] = "none"
    """What stands in for an empty memory: source lines ranked by overlap with q, or nothing."""
    switches: frozenset[str] = frozenset({"no-rescue"})
    """Ablations that change what the method does; `no-rescue` acts on the shared path."""
    rank: Rank = rank
    selector: bool = True
    """Whether a model selects among the candidates; controls without a selector pack them in rank order."""
    budgeted: bool = True
    """Whether `B` holds; only `full-context` goes beyond it, up to its own limit."""
    from_gold: Callable[[History, Gold], Memory] | None = None
    """The ceiling that uses evidence labels: it takes the place of `remember`, and every table marks it."""


@dataclass(frozen=True, slots=True)
class Builder(Generic[O]):
    """A kind of method: its options, a frozen dataclass with defaults, and how a method is made from them."""

    options: type[O]
    make: Callable[[str, O], Method]
    """Name and options in, method out."""

    def build(self, name: str, options: Mapping[str, Any]) -> Method:
        """The method of that name; MendableError names an unknown option and the nearest valid one."""
        known = [field.name for field in fields(self.options)]  # type: ignore[arg-type]
        for key in options:
            if key not in known:
                raise MendableError(f"method {name}: {nearest('option', key, known)}")
        try:
            return self.make(name, TypeAdapter(self.options).validate_python(dict(options)))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise MendableError(f"method {name}, option {where}: {first['msg'].lower()}") from error

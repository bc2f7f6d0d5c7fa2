"""The parameters of a generated suite, as they stand in its variant: `facts=400,seed=7`."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from rdforget.plugins import nearest
from rdforget.suites.base import DataError

_ROUNDING = 1e-9  # 0.1 + 0.2 + 0.7 is more than 1


@dataclass(frozen=True, slots=True)
class GeneratedParameters:
    """Base of a suite's parameters: fields of int or float, each with its least and largest value as metadata `range`.

    They are the identity of what is generated, so they alone and `version` make the hash. A field that joined a suite
    later has metadata `later` and counts unless it is the default, so that older ids stay.
    """

    suite: ClassVar[str]
    version: ClassVar[int]
    shares: ClassVar[tuple[str, ...]]
    """Fields that are shares of the questions, so at most 1 together."""

    @classmethod
    def parse(cls, variant: str) -> Self:
        """DataError names the key, what it may be, or the nearest key that there is."""
        known = {item.name: item for item in fields(cls)}
        given: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in variant.split(","))):
            key, _, text = (side.strip() for side in part.partition("="))
            if key not in known:
                raise DataError(f"{cls.suite}: {nearest('parameter', key, known)}")
            if key in given:
                raise DataError(f"{cls.suite}: {key} is given twice")
            default: Any = known[key].default
            kind: type[int | float] = type(default)
            low, high = known[key].metadata["range"]
            try:
                given[key] = kind(text)
            except ValueError:
                given[key] = math.nan
            if not low <= given[key] <= high:
                number = "a whole number" if kind is int else "a number"
                raise DataError(f"{cls.suite}: {key}={text} is not {number} from {low} to {high}")
        parameters = cls(**given)
        if sum(getattr(parameters, name) for name in cls.shares) > 1 + _ROUNDING:
            names = f"{', '.join(cls.shares[:-1])} and {cls.shares[-1]}"
            raise DataError(f"{cls.suite}: {names} are shares of the questions, so at most 1 together")
        return parameters

    @property
    def name(self) -> str:
        """The suite's name with the parameters that are not the default."""
        given = [
            f"{item.name}={getattr(self, item.name)}"
            for item in fields(self)
            if getattr(self, item.name) != item.default
        ]
        return f"{self.suite}:{','.join(given)}" if given else self.suite

    @property
    def sha256(self) -> str:
        values = asdict(self)
        for item in fields(self):
            if item.metadata.get("later") and values[item.name] == item.default:
                del values[item.name]
        return hashlib.sha256(f"{self.suite} {self.version} {values}".encode()).hexdigest()

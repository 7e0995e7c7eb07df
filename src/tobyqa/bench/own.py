"""Problems and channels that a study was handed as objects, by the names they go by.

A study is kept as text and runs elsewhere, so it names what it consists of; the objects
themselves travel beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tobyqa.bench import catalogue
from tobyqa.bench.channels import Channel, get_channel
from tobyqa.bench.elsewhere import Guarded, channel_at, is_elsewhere
from tobyqa.bench.problems import Problem
from tobyqa.bench.records import Cell


@dataclass(frozen=True)
class Own:
    """Objects by name; what is not here is looked up in the catalogue.

    `sizes` and `names` are what a file says of problems and channels that are not of
    this package: enough to read its records, not to run it.
    """

    problems: Mapping[str, Problem] = field(default_factory=dict)
    channels: Mapping[str, Channel] = field(default_factory=dict)
    sizes: Mapping[str, Collection[int]] = field(default_factory=dict)
    names: Collection[str] = ()

    @property
    def has_objects(self) -> bool:
        return bool(self.problems or self.channels)

    def problem(self, name: str, n: int) -> Problem:
        """The problem `name` in dimension `n`."""
        return self.problems.get(name) or catalogue.find_problem(name, n)

    def has_dimension(self, name: str, n: int) -> bool:
        """Whether the problem exists with `n` variables."""
        if name in self.problems:
            return self.problems[name].n == n
        if name in self.sizes:
            return n in self.sizes[name]
        return catalogue.has_dimension(name, n)

    def channel(self, name: str) -> Channel:
        """The channel `name`."""
        if name in self.channels:
            return Guarded(self.channels[name])
        return channel_at(name) if is_elsewhere(name) else get_channel(name)

    def check(
        self,
        problems: Iterable[str],
        channels: Iterable[str],
        dimensions: Sequence[int],
    ) -> None:
        """Raise if a name leads nowhere, or to a problem that no dimension lets in."""
        for name in problems:
            if name in self.problems:
                self._check_object(name, dimensions)
            elif name not in self.sizes:
                catalogue.check_name(name)
        for name in channels:
            if name not in self.names:
                self.channel(name)

    def _check_object(self, name: str, dimensions: Sequence[int]) -> None:
        if catalogue.is_known(name):
            raise ValueError(f"problem {name!r}: the package has one of that name")
        if (n := self.problems[name].n) not in dimensions:
            raise ValueError(
                f"problem {name!r} has {n} variables; dimensions: {dimensions}"
            )

    def plus(self, problems: Iterable[Problem], channels: Iterable[Channel]) -> Own:
        """These and more."""
        return replace(
            self,
            problems={**self.problems, **{p.name: p for p in problems}},
            channels={**self.channels, **{channel_name(c): c for c in channels}},
        )


def outline(own: Own, cells: Sequence[Cell]) -> str:
    """What a file says of problems and channels from elsewhere, as TOML."""
    sizes, names = set(own.sizes), set(own.names)
    sizes |= {*own.problems, *(c.problem for c in cells if is_elsewhere(c.problem))}
    names |= {*own.channels, *(c.channel for c in cells if is_elsewhere(c.channel))}
    if not sizes and not names:
        return ""
    pairs = sorted({(c.problem, c.n) for c in cells if c.problem in sizes})
    lines = [
        f"problems = {json.dumps(pairs)}",
        f"channels = {json.dumps(sorted(names))}",
    ]
    return "\n".join(["", "[own]", *lines, ""])


def from_outline(table: Mapping[str, Any]) -> Own:
    """What `outline` wrote."""
    sizes: dict[str, set[int]] = {}
    for name, n in table.get("problems", []):
        sizes.setdefault(name, set()).add(n)
    return Own(sizes=sizes, names=tuple(table.get("channels", [])))


def by_name(study: Any) -> dict[str, Any]:
    """The fields of a study and its blocks with names for objects, and these in `own`.

    Where dimensions are left open, they are those of the problems handed over.
    """
    own, blocks = study.own, []
    for part in (study, *study.blocks):
        handed = [p for p in part.problems or () if isinstance(p, Problem)]
        own = own.plus(handed, [c for c in part.channels or () if callable(c)])
        changes = {
            "problems": _each(part.problems, lambda p: getattr(p, "name", p)),
            "channels": _each(part.channels, _name_if_object),
        }
        if handed and part.dimensions == ():
            changes["dimensions"] = tuple(sorted({problem.n for problem in handed}))
        blocks.append(changes)
    first, *others = blocks
    pairs = zip(study.blocks, others, strict=True)
    parts = tuple(replace(block, **changes) for block, changes in pairs)
    return {**first, "blocks": parts, "own": own}


def channel_name(channel: Any) -> str:
    """Its `name`, if it has one; else that of the function or the class."""
    name = getattr(channel, "name", None) or getattr(channel, "__name__", None)
    return str(name or type(channel).__name__)


def _name_if_object(channel: Any) -> Any:
    return channel_name(channel) if callable(channel) else channel


def _each(values: Any, name: Callable[[Any], Any]) -> Any:
    """Of a list; anything else is for the study to complain of."""
    is_list = isinstance(values, tuple | list)
    return tuple(map(name, values)) if is_list else values

"""What to run: a study names problems, channels, seeds and solvers; its cells follow.

A study is a TOML file::

    name = "tiny"
    version = 1
    description = "Two problems, one channel."
    problems = ["power", "woods"]        # or "all" 65, "walled", "instruments"
    channels = ["LinearDrift"]           # or "all"
    dimensions = [6]
    seeds = [0, 1]
    budget = 300
    solvers = ["paper", "nelder-mead"]
    reference_solvers = ["paper"]        # these define f_L; all solvers by default

    [[block]]                            # optional: what differs from the above
    dimensions = [20]
    budget = 1000

Problems and channels of your own are given as ``"module:name"``, problems of CUTEst as
``"cutest:NAME"``; in Python, as objects (`tobyqa.bench.Problem`, any channel).

With blocks, each block is a grid of cells of its own, and the values at the top stand
in for what a block leaves out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from tobyqa.bench.channels import channel_names
from tobyqa.bench.instruments import instrument_names
from tobyqa.bench.own import Own, by_name, from_outline, outline
from tobyqa.bench.problems import problem_names
from tobyqa.bench.records import Cell
from tobyqa.bench.solvers import get_solver
from tobyqa.bench.walled import walled_names

_APART = ("blocks", "own")  # not keys of a TOML table


@dataclass(frozen=True)
class Block:
    """A grid of instances; None: as the study says."""

    problems: tuple[Any, ...] | None = None
    channels: tuple[Any, ...] | None = None
    dimensions: tuple[int, ...] | None = None
    seeds: tuple[int, ...] | None = None
    budget: int | None = None


@dataclass(frozen=True)
class Study:
    """A benchmark study; see the module's text for what the fields mean."""

    name: str
    description: str
    solvers: tuple[str, ...]
    problems: tuple[Any, ...] = ()
    channels: tuple[Any, ...] = ()
    dimensions: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    budget: int = 0
    reference_solvers: tuple[str, ...] = ()
    version: int = 1
    blocks: tuple[Block, ...] = ()
    own: Own = field(default_factory=Own, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key, value in by_name(self).items():
            object.__setattr__(self, key, value)
        if not self.reference_solvers:
            object.__setattr__(self, "reference_solvers", self.solvers)
        _check_strings(self)
        for block in self.grids():
            _check_grid(self.name, block, self.own)

    def grids(self) -> tuple[Block, ...]:
        """The blocks with nothing left out."""
        base = Block(**{f.name: getattr(self, f.name) for f in fields(Block)})
        return tuple(_filled(block, base) for block in self.blocks or (base,))

    def cells(self) -> list[Cell]:
        """All runs, in an order in which complete seeds are finished first."""
        return [
            replace(instance, solver=solver)
            for instance in self.instances()
            for solver in self.solvers
        ]

    def instances(self) -> list[Cell]:
        """All instances, as cells whose solver is still to be named."""
        grids = self.grids()
        seeds = sorted({seed for grid in grids for seed in grid.seeds or ()})
        found = (
            cell
            for seed in seeds
            for grid in grids
            if seed in (grid.seeds or ())
            for cell in _instances(grid, seed, self.own)
        )
        return list(dict.fromkeys(found))  # blocks may overlap


def load_study(source: str | Path) -> Study:
    """The study shipped under that name, or in that TOML file.

    >>> load_study("smoke").budget
    300
    """
    path = Path(source)
    if path.suffix == ".toml" or path.is_file():
        try:
            study = parse_study(path.read_text(encoding="utf-8"), str(source))
        except FileNotFoundError:
            raise ValueError(f"there is no study file {str(source)!r}") from None
        for name in (*study.solvers, *study.reference_solvers):
            get_solver(name)
        return study
    if str(source) not in study_names():
        raise ValueError(
            f"unknown study {str(source)!r}: neither a TOML file nor one of "
            f"{', '.join(study_names())}"
        )
    shipped = resources.files(__package__) / "studies" / f"{source}.toml"
    return parse_study(shipped.read_text(encoding="utf-8"), f"study {source}")


def study_names() -> tuple[str, ...]:
    """Names of the studies that come with the package.

    >>> "paper" in study_names()
    True
    """
    files = (resources.files(__package__) / "studies").iterdir()
    return tuple(
        sorted(
            file.name.removesuffix(".toml")
            for file in files
            if file.name.endswith(".toml")
        )
    )


def parse_study(text: str, source: str = "study") -> Study:
    """A study from TOML text; `source` is named in errors."""
    # Here and not above: the rest of the package must load without tomli.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table = tomllib.loads(text)
        blocks, own = table.pop("block", []), from_outline(table.pop("own", {}))
        values = _values(table, Study, "name", "description", "solvers")
        grids = tuple(Block(**_values(block, Block)) for block in blocks)
        return Study(**values, blocks=grids, own=own)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: {error}") from error


def study_text(study: Study) -> str:
    """The study as TOML; `parse_study` gives it back."""
    blocks = [f"\n[[block]]\n{_toml(block)}" for block in study.blocks]
    return _toml(study) + "".join(blocks) + outline(study.own, study.instances())


def differences(study: Study, other: Study) -> list[str]:
    """What keeps records of two studies apart, one text for each field.

    Solvers do not: each is compared with the others on the same instances.
    """
    may_differ = ("description", "solvers", "reference_solvers", "own")
    return [
        f"{f.name}: {getattr(study, f.name)!r} against {getattr(other, f.name)!r}"
        for f in fields(Study)
        if f.name not in may_differ and getattr(study, f.name) != getattr(other, f.name)
    ]


def with_solvers_of(study: Study, other: Study) -> Study:
    """`study` with the solvers that only `other` has."""
    return replace(
        study,
        solvers=tuple(dict.fromkeys(study.solvers + other.solvers)),
        reference_solvers=tuple(
            dict.fromkeys(study.reference_solvers + other.reference_solvers)
        ),
    )


def _toml(table: Study | Block) -> str:
    # A JSON string, number or list of these is also TOML.
    return "".join(
        f"{f.name} = {json.dumps(value, ensure_ascii=False)}\n"
        for f in fields(table)
        if (value := getattr(table, f.name)) is not None and f.name not in _APART
    )


def _filled(block: Block, base: Block) -> Block:
    missing = {
        f.name: getattr(base, f.name)
        for f in fields(Block)
        if getattr(block, f.name) is None
    }
    return replace(block, **missing)


def _instances(grid: Block, seed: int, own: Own) -> Iterator[Cell]:
    """The instances of one seed; dimensions that a problem lacks are left out."""
    assert grid.budget is not None
    for n in grid.dimensions or ():
        for channel in grid.channels or ():
            for problem in grid.problems or ():
                if own.has_dimension(problem, n):
                    yield Cell(problem, n, channel, seed, grid.budget, "")


# Validation --------------------------------------------------------------------------


def _values(
    table: Mapping[str, Any], cls: type[Study] | type[Block], *required: str
) -> dict[str, Any]:
    """The table as arguments of `cls`, lists as tuples and "all" spelt out."""
    if not isinstance(table, dict):
        raise ValueError("block: write [[block]], not block = ...")
    known = [f.name for f in fields(cls) if f.name not in _APART]
    if unknown := sorted(set(table) - set(known)):
        raise ValueError(
            f"unknown key {', '.join(unknown)}; allowed: {', '.join(known)}"
        )
    if missing := [key for key in required if key not in table]:
        raise ValueError(f"{', '.join(missing)} is missing")
    return {key: _spelt_out(key, value) for key, value in table.items()}


def _spelt_out(key: str, value: Any) -> Any:
    """What a word for many names stands for; lists as tuples."""
    words = {
        ("problems", "all"): problem_names,
        ("problems", "instruments"): instrument_names,
        ("problems", "walled"): walled_names,
        ("channels", "all"): channel_names,
    }
    if isinstance(value, str) and (key, value) in words:
        return words[key, value]()
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _check_strings(study: Study) -> None:
    """Name, version and solvers."""
    if not isinstance(study.name, str) or not study.name:
        raise ValueError(f"name: {study.name!r} is not a name")
    if not _is_count(study.version):
        raise ValueError(f"version: {study.version!r} is not a whole number >= 1")
    for key in ("solvers", "reference_solvers"):
        names = getattr(study, key)
        _check_list(f"study {study.name!r}: {key}", names, str)


def _check_grid(study: str, grid: Block, own: Own) -> None:
    """Whether a filled block says everything, in values that exist."""
    kinds = {"problems": str, "channels": str, "dimensions": int, "seeds": int}
    for key, kind in kinds.items():
        _check_list(f"study {study!r}: {key}", getattr(grid, key), kind)
    if not _is_count(grid.budget):
        raise ValueError(f"study {study!r}: budget: {grid.budget!r} is not >= 1")
    if any(n < 1 for n in grid.dimensions or ()):
        raise ValueError(f"study {study!r}: dimensions: {grid.dimensions} has n < 1")
    own.check(grid.problems or (), grid.channels or (), grid.dimensions or ())


def _check_list(where: str, values: Collection[Any], kind: type) -> None:
    if not isinstance(values, tuple) or not values:
        raise ValueError(f"{where}: {values!r} is not a list of at least one entry")
    if wrong := [v for v in values if not isinstance(v, kind) or isinstance(v, bool)]:
        raise ValueError(f"{where}: {wrong[0]!r} is not of type {kind.__name__}")
    if len(set(values)) != len(values):
        raise ValueError(f"{where}: an entry is given twice")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1

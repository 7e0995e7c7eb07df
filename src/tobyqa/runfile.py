"""A run as a JSON file: what was asked for at the start, and every event since."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from . import _check
from ._version import __version__

FORMAT = "tobyqa-run"
FORMAT_VERSION = 1


def write(path: str | os.PathLike[str], run: dict[str, Any]) -> None:
    """Write `run`; an older file stays in place until the new one is complete."""
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
    }
    target = Path(path)
    temporary = target.with_name(target.name + ".part")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(header | run, file, allow_nan=False, default=np.ndarray.tolist)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, target)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write` wrote, points as read-only arrays.

    Raises
    ------
    ValueError
        If the file is no saved run, or one of another format version.
    """
    name = os.fspath(path)
    try:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{name} is not a saved run: {error}") from None
    if not isinstance(run, dict) or run.get("format") != FORMAT:
        raise ValueError(f"{name} is not a saved run")
    if run["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"{name} has format version {run['format_version']}; "
            f"this package reads version {FORMAT_VERSION}"
        )
    run["task"]["x0"] = _check.start_point(run["task"]["x0"])
    for event in run["events"]:
        if event.get("x") is not None:
            event["x"] = _check.point("x", event["x"], run["task"]["x0"].size)
    return run

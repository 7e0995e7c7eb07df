"""The installed package at work: run by `make smoke`, outside of the repository.

Arguments: the file of the versions that must be there; without one any will do.
"""

import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
from scipy.optimize import basinhopping

import tobyqa

PLACE = np.array([1.0, 2.0])


def reading(x, t):
    return float(np.sum((np.asarray(x) - PLACE) ** 2)) + 0.2 * t


def check_installation():
    assert Path(tobyqa.__file__).is_relative_to(sys.prefix), tobyqa.__file__
    assert metadata.version("tobyqa") == tobyqa.__version__


def check_versions(oldest):
    for line in Path(oldest).read_text().splitlines():
        requirement, _, marker = line.partition(";")
        if marker and sys.version_info < (3, int(marker.split(".")[1].strip('"'))):
            name, version = requirement.split("==")
            assert metadata.version(name) == version, f"{name} is not {version}"


def check_minimize(method):
    clock = iter(range(1000))
    result = tobyqa.minimize(
        lambda x: reading(x, next(clock)), [0, 0], method=method, noise=0.01, maxfev=80
    )
    assert np.abs(result.x - PLACE).max() < 0.1, (method, result.x)


def check_within_scipy():
    how = {"method": tobyqa.scipy_method, "tol": 1e-3, "options": {"noise": 1e-4}}
    found = basinhopping(
        lambda x: reading(x, 0.0), [0, 0], niter=1, minimizer_kwargs=how
    )
    assert found.minimization_failures == 0, found
    assert np.abs(found.x - PLACE).max() < 0.1, found.x


def check_save_and_load(folder):
    path = Path(folder) / "run.jsonl"
    optimizer = tobyqa.Optimizer([0.0, 0.0], noise=0.01, maxfev=40)
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, reading(trial.x, trial.id))
    optimizer.save(path)
    again = tobyqa.Optimizer.load(path)
    assert again.ask().x.tolist() == optimizer.ask().x.tolist()


def output(*arguments):
    command = str(Path(sys.executable).with_name("tobyqa"))
    return subprocess.run(
        [command, *arguments], capture_output=True, text=True, check=True
    ).stdout


def check_command():
    assert tobyqa.__version__ in output("--version")
    assert "usage: tobyqa" in output("--help")
    # The studies are files beside the code: a wheel that left them out has none.
    listed = output("bench", "list")
    files = (Path(tobyqa.__file__).parent / "bench" / "studies").glob("*.toml")
    studies = sorted(file.stem for file in files)
    assert "smoke" in studies, studies
    assert f"{len(studies)} studies" in listed, listed


if __name__ == "__main__":
    check_installation()
    for constraints in sys.argv[1:]:
        check_versions(constraints)
    for each in ("adaptive", "paper"):
        check_minimize(each)
    check_within_scipy()
    with tempfile.TemporaryDirectory() as made:
        check_save_and_load(made)
    check_command()
    versions = ", ".join(f"{p} {metadata.version(p)}" for p in ("numpy", "scipy"))
    print(f"tobyqa {tobyqa.__version__} works with {versions}")

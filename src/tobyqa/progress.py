"""How far a search is, on standard error, for those who ask to see it."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator

from .optimizer import Optimizer
from .shown import point_texts
from .text import one_line
from .wording import with_error

_PAUSE = 10.0  # seconds between plain lines
_LOOK = 0.5  # seconds between two looks at the answer
_MOST = 4  # variables in a line


@contextlib.contextmanager
def meter(opt: Optimizer, *, shown: bool) -> Iterator[Callable[[], None]]:
    """A function to be called after every evaluation.

    A bar if tqdm is installed, else a line now and then, and one at the end.
    """
    if not shown:
        yield lambda: None
        return
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        with _lines(opt) as advance:
            yield advance
        return
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    with tqdm(
        total=opt.maxfev,
        initial=opt.nfev,
        unit="reading",
        dynamic_ncols=True,
        mininterval=0.2 if is_watched else _PAUSE,  # a log needs few lines
    ) as bar:
        latest = -_LOOK

        def advance_bar() -> None:
            nonlocal latest
            if (now := time.monotonic()) - latest >= _LOOK or opt.done:
                latest = now
                bar.set_postfix_str(standing(opt), refresh=False)
            bar.update(opt.nfev - bar.n)

        yield advance_bar


@contextlib.contextmanager
def _lines(opt: Optimizer) -> Iterator[Callable[[], None]]:
    latest, said = time.monotonic(), -1

    def say() -> None:
        nonlocal latest, said
        latest, said = time.monotonic(), opt.nfev
        limit = "" if opt.maxfev is None else f" of {opt.maxfev}"
        print(f"{opt.nfev}{limit} readings, {standing(opt)}", file=sys.stderr)

    def advance() -> None:
        if time.monotonic() - latest >= _PAUSE:
            say()

    yield advance
    if opt.nfev != said:
        say()


def standing(opt: Optimizer) -> str:
    """The answer so far in a few words."""
    res = opt.progress()
    text = f"value {with_error(res.fun, res.fun_std)}"
    if len(res.x) <= _MOST:
        text += f" at {', '.join(point_texts(res, res.x))}"
    return one_line(text)

"""The process between a run and its program: whatever becomes of the run, it ends both.

    python -I -S _supervise.py GRACE LIFELINE REPORT PROGRAM [ARGUMENT ...]

A script that needs nothing of the package: importing that takes longer than many a
program. REPORT, the write end of a pipe, gets the line ``pid N``: the process, leader
of a group of its own, that will become the program when the run has taken note of it.
That is said by a byte on LIFELINE, the read end of another pipe. Its end means that the
run wants the program ended or is gone itself, however it died. Then, and also when the
program ends by itself, all that is left of the group is asked to end and after GRACE
seconds killed. Last in the report are ``errno N`` if the program could not be started,
and ``code N``.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

_PAUSE = 0.01  # seconds between looks at a group that was asked to end


def main(arguments: list[str]) -> None:
    """Start a program and see to its end."""
    grace, lifeline, report = float(arguments[0]), int(arguments[1]), int(arguments[2])
    for descriptor in (lifeline, report):
        os.set_inheritable(descriptor, False)
    restored, woken = _deafened(), _woken_by_a_child()
    gate, key = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(key)
        _become(arguments[3:], gate, report, restored)
    os.close(gate)
    os.setpgid(pid, pid)  # it does so as well; either may be the first
    _say(report, f"pid {pid}")
    _write(key, os.read(lifeline, 1))
    os.close(key)
    status = None
    while status is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready:
            break
        os.read(woken, 512)
        status = _reaped(pid)
    if status is None:
        _say_code(report, _ended(pid, None, grace))
    else:  # at once: the program must not be late because of what it left behind
        _say_code(report, status)
        _ended(pid, status, grace)


def _become(command: list[str], gate: int, report: int, restored: list[int]) -> None:
    """Turn into the program once the gate opens; if it is closed for good, end."""
    try:
        os.setpgid(0, 0)
        for number in restored:
            signal.signal(number, signal.SIG_DFL)
        if os.read(gate, 1):
            os.execvpe(command[0], command, os.environ)
    except OSError as error:
        _say(report, f"errno {error.errno}")
    finally:
        os._exit(127)


def _ended(pid: int, status: int | None, grace: float) -> int:
    """End a child, unless it has ended, and its group; gives the child's status."""
    signal_group(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        status = _reaped(pid) if status is None else status
    if is_running(pid):
        signal_group(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] if status is None else status


def _deafened() -> list[int]:
    """Ignore what would end this process; gives what the program must not ignore."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    heard = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    # Python itself ignores these two.
    return [*heard, signal.SIGPIPE, signal.SIGXFSZ]


def _woken_by_a_child() -> int:
    """A descriptor that can be read once a child has ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def _reaped(pid: int) -> int | None:
    """How a child has ended, if it has."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return status if ended else None


def _say_code(report: int, status: int) -> None:
    _say(report, f"code {os.waitstatus_to_exitcode(status)}")


def _say(report: int, line: str) -> None:
    _write(report, line.encode() + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    try:
        os.write(descriptor, data)
    except OSError:  # nobody is left to read it
        pass


# What the run itself needs too -------------------------------------------------------


def signal_group(group: int, number: int) -> None:
    """Send a signal to whatever there is of a group."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def end_group(group: int, grace: float) -> None:
    """Ask a group to end, then kill what is left of it; none of it is our child."""
    signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while is_running(group) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    if is_running(group):
        signal_group(group, signal.SIGKILL)


def is_running(group: int) -> bool:
    """Whether any of a group runs; what only waits to be reaped does not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if stat(os.getpid()) is None:
        return True
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return any(
        found[1] == group and found[0] not in "ZX" for found in map(stat, pids) if found
    )


def stat(pid: int) -> tuple[str, int, int] | None:
    """State, group and time of start (ticks since boot) of a process, from Linux."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("ascii", "replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything: blanks, parentheses, line ends.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[2]), int(fields[19])


if __name__ == "__main__":
    main(sys.argv[1:])

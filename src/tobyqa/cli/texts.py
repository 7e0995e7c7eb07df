"""What ``--help`` says at length."""

EXAMPLES = """\
examples:
  tobyqa demo                                 a drifting problem, SciPy against tobyqa
  tobyqa run --x0 0,0 --journal run.jsonl -- ./measure {x0} {x1}
                                              optimize a program
  tobyqa init run.jsonl --x0 300,1.5 --name temp --bound temp=280:320 --name gap
                                              the same by hand: init, ask, tell, ...
  tobyqa status run.jsonl                     the answer so far
  tobyqa theory                               the paper's theorems, checked
  tobyqa bench run smoke --out runs/smoke     a small benchmark study
  tobyqa bench report runs/smoke --out report its tables and figures
"""
EXIT_CODES = """\
exit codes:
  0    done; for run: the search has ended by itself, its message says why
  1    run: too many trials failed in a row, or all; ask: the search has ended
  2    bad input; nothing was evaluated
  3    the journal is run by another process, cannot be written, or is in the way
  130  stopped by Ctrl-C, SIGTERM, SIGHUP or SIGQUIT
"""
RUN_TEXT = """\
Optimize any program.

For each trial the program is started, without a shell, with the point
  on standard input        {"a": 0.5, "b": -1.0}: a JSON object by name
  in its environment       TOBYQA_X='[0.5, -1.0]', TOBYQA_INDEX=7 (the trial's number),
                           TOBYQA_A=0.5, TOBYQA_B=-1.0: one per variable
  in its arguments         {x}, {index} and {a}, {b}, ... are replaced; {{a}} is {a},
                           any other {name} is an error
With --parallel K, K programs run at the same time, each with the number of its slot, 0
to K - 1, in TOBYQA_SLOT, by which it can choose its station.
Variables without names are called x0, x1, ... The last non-empty line that it prints is
the reading: a number, or a JSON object with "value" and, if known, "t" (its time) and
"sigma" (its standard error); other keys are ignored.

A non-zero exit code, a time-out, more output than --max-output or anything but a finite
number is a failed trial. After --retries further attempts it is recorded, with the last
--stderr-lines of the program's standard error, and the search goes on with another
point.

When a trial ends, and when the run does, however it dies, the program and all that it
started are asked to end, and killed two seconds later (on Windows: the program alone,
and not if the run is killed). What has left the program's process group, as by setsid,
cannot be caught and stays. While a program runs, its process is noted beside the
journal, in FILE.programs, FILE.programs.1, ...; a run that is continued first ends what
is still there (on Linux). Programs on a cluster (--dask) belong to its workers: they
are neither noted nor ended with the run.

A reading without a "t" is timed by the wall clock (seconds, as time.time() in Python)
when the program ends; --clock index numbers the readings instead.

With --journal everything is on the disk before it counts: repeat the same command after
Ctrl-C, a crash or a power cut, and the run goes on. Without --maxfev at most 500 trials
per variable are made.

RUNFILE is a TOML file with any of the keys x0, names, units, noise, maxfev, radius,
bounds, constraints, x_scale, resolution, fixed, max_move, safe, limit, maximize,
method, options, max_failures, restarts, seed, clock, data, journal, timeout, retries,
max_output, stderr_lines, parallel, dask, program; flags override it, --constraint adds
to its constraints.
Of the knobs it may say
  bounds = {temp = [280, 320], gap = [0, inf]}    constraints = ["gap + 2*angle <= 3"]
  x_scale = {temp = 5}    resolution = {gap = 0.01}    fixed = {angle = 0}
  maximize = true         radius = [5, 0.5, 0.2]
  max_move = {temp = 2}   safe = {temp = 300, gap = 1, angle = 0}    limit = 8.5
Lists with one entry for each variable do as well. Paths are relative to the working
directory.
"""
RUN_EXAMPLES = (
    "run --x0 0,0 --noise 0.1 --journal run.jsonl -- ./measure --gain {x0} {x1}",
    "run --x0 20,1.5 --name temp --name gap --maxfev 60 --timeout 30 -- ./measure",
    "run --x0 300,1 --name temp --name gap --bound temp=280:320 --bound gap=0.1:2 "
    "--maximize -- ./measure",
    "run --x0 0,0 --journal run.jsonl --parallel 4 -- ./measure {x0} {x1}",
    "run run.toml --maxfev 200",
)

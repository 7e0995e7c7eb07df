"""``python -m tobyqa.theory``."""

import argparse

from . import add_arguments, main

parser = argparse.ArgumentParser(prog="python -m tobyqa.theory")
add_arguments(parser)
raise SystemExit(main(parser.parse_args()))

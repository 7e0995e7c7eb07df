"""Lets ``python -m tobyqa`` run."""

import sys

from .cli import main

sys.exit(main())

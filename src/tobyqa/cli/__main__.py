"""Lets ``python -m tobyqa.cli`` run."""

import sys

from . import main

sys.exit(main())

"""Runs the command line: ``python -m autodiff_compiler``."""

import sys

from .cli import main

sys.exit(main())

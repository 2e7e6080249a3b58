"""`python -m rlprobe` is the command line."""

import sys

from rlprobe.cli import main

sys.exit(main())

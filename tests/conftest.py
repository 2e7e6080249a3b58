"""What holds for every test: one thread of linear algebra, set before numpy is loaded."""

import os

from rlprobe.cli import THREADS

for name in THREADS:
    os.environ.setdefault(name, "1")

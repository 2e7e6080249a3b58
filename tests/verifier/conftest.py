"""Settings that a real trainer reads from the environment; nothing is downloaded."""

import os

for name, value in {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "CI": "1"}.items():
    os.environ.setdefault(name, value)

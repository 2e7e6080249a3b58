"""The taught tiny model, for the README's trainer block."""

from tests.integrations.conftest import sorter as sorter

"""A tiny model for the README's trainer block; it records a trainer whatever the model knows, so it is not taught."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def untaught_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the model and its tokenizer."""
    import torch

    from tests.integrations import tiny_model

    torch.set_num_threads(1)
    home = tmp_path_factory.mktemp("model")
    tiny_model.untaught().save_pretrained(home)
    tiny_model.tokenizer().save_pretrained(home)
    return home

from pathlib import Path

from rlprobe.importers.keymaps.page import page


def test_the_page_on_importing_is_made_of_the_key_maps() -> None:
    written = Path(__file__).parents[2] / "docs" / "importing.md"

    assert written.read_text(encoding="utf-8") == page(), "python -m rlprobe.importers.keymaps.page > docs/importing.md"

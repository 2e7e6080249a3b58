"""A correct pipeline's source with one line changed, loaded as a module of its own."""

import linecache
import sys
from dataclasses import dataclass
from importlib import resources
from types import ModuleType

from rlprobe.verifier.outcome import Category, Stage
from rlprobe.verifier.pipeline import Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One bug.

    Attributes:
        id: stable name that says the bug: "advantage-epsilon-one".
        base: module of `correct/` that it changes; its `make()` gives the Pipeline.
        old, new: text that stands exactly once in the base, and what stands there instead.
        stage: the stage whose check must fail first.
        category: pitfall category.
        source: id of the real bug it is modelled on; "" for one of the usual slips.
    """

    id: str
    base: str
    old: str
    new: str
    stage: Stage
    category: Category
    source: str = ""

    def text(self) -> str:
        """The changed source.

        Raises:
            ValueError: `old` does not stand exactly once in the base.
        """
        text = source_of(self.base)
        if text.count(self.old) != 1:
            raise ValueError(
                f"mutant {self.id}: {self.old!r} stands {text.count(self.old)} times in {self.base}, expected once"
            )
        return text.replace(self.old, self.new)


def source_of(base: str) -> str:
    """The source of a correct pipeline."""
    return resources.files("rlprobe.verifier.selftest.correct").joinpath(f"{base}.py").read_text(encoding="utf-8")


def load(text: str, name: str) -> Pipeline:
    """The Pipeline that `make()` of a module with this text gives."""
    module = ModuleType(f"rlprobe.verifier.selftest.correct.{name.replace('-', '_')}")
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module  # inspect and dataclasses look there
    exec(compile(text, filename, "exec"), module.__dict__)  # our own source, changed by our own table
    made = module.make()
    assert isinstance(made, Pipeline)
    return made

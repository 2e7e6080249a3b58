"""What the skill's script sees of one-line bugs, beside `rlprobe verify`: `python -m bench.skill`.

Taken are the verifier's own correct pipelines and mutants whose functions take what the script's adapters take.
A mutant counts as marked where a line needs a look that needs none on the correct pipeline.
"""

import contextlib
import importlib.util
import io
from collections.abc import Mapping
from types import ModuleType

from rlprobe.skill import bundle
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest import measure
from rlprobe.verifier.selftest.mutant import load, source_of

PROBES = ("advantages", "logprobs", "loss")  # the others' adapters need texts or a model of the user's


def main() -> None:
    """Print the table."""
    script = _script()
    calm = {name: _looks(script, load(source_of(name), name)) for name in measure.bases()}
    reached = {name: told for name, told in calm.items() if told}
    print("| stage | correct functions | of them with a look | mutants | marked by the script | found by verify |")
    print("|---|---|---|---|---|---|")
    for probe in PROBES:
        correct = [told[probe] for told in reached.values() if probe in told]
        mutants = [one for one in measure.all_mutants() if one.stage == probe and probe in calm.get(one.base, {})]
        marked = [_looks(script, load(one.text(), one.id)).get(probe) != calm[one.base][probe] for one in mutants]
        killed = sum(measure.mutant_score(one).killed for one in mutants)
        looks = sum(bool(told) for told in correct)
        print(f"| {probe} | {len(correct)} | {looks} | {len(mutants)} | {sum(marked)} | {killed} |")


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("skill_script", bundle.FOLDER / "scripts" / "verify_pipeline.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _looks(script: ModuleType, pipeline: Pipeline) -> Mapping[str, tuple[str, ...]]:
    """Invariants that need a look, by stage; a function that does not take the script's arguments is left out."""
    found: dict[str, tuple[str, ...]] = {}
    for probe in PROBES:
        function = getattr(pipeline, probe)
        if not callable(function):
            continue
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            lines = script.PROBES[probe]({probe: function})
            found[probe] = tuple(invariant.partition(":")[0] for holds, _, invariant in lines if not holds)
    return found


if __name__ == "__main__":
    main()

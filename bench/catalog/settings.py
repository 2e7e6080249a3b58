"""python -m bench.catalog.settings VERL OPENRLHF: the names of settings that these trainers have, for tests to hold.

VERL and OPENRLHF are wheels, as `pip download --no-deps verl==0.9.0` leaves them. Nothing of them is imported or run:
verl's names are the keys of its generated configuration, OpenRLHF's the flags of its PPO command. TRL is installed
where the tests run and is asked itself.
"""

import ast
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

KEPT = Path(__file__).parents[2] / "tests" / "docs" / "settings"
VERL = "verl/trainer/config/_generated_ppo_trainer.yaml"
OPENRLHF = "openrlhf/cli/train_ppo_ray.py"
ASIDE = frozenset({"profiler", "global_profiler", "qat", "_target_"})  # parts of names that no page speaks of


def main() -> None:
    """Write one list a trainer, its version in the name."""
    if len(sys.argv) != 3:
        raise SystemExit("bench.catalog.settings: expected two wheels, of verl and of OpenRLHF.")
    for path, inside, names_of in ((sys.argv[1], VERL, keys), (sys.argv[2], OPENRLHF, flags)):
        name, version = Path(path).name.split("-")[:2]
        with zipfile.ZipFile(path) as wheel:
            (member,) = [each for each in wheel.namelist() if each.endswith(inside)]
            found = set(names_of(wheel.read(member).decode("utf-8")))
            names = sorted(one for one in found if ASIDE.isdisjoint(one.split(".")))
        for old in KEPT.glob(f"{name}-*.txt"):
            old.unlink()
        (KEPT / f"{name}-{version}.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        print(f"{name} {version}: {len(names)} names")


def keys(text: str) -> Iterator[str]:
    """Dotted keys of a block of YAML as a dump writes it: two spaces a level, one key a line."""
    above: list[str] = []
    for line in text.splitlines():
        found = re.match(r"( *)'?([A-Za-z_]\w*)'?:(?: |$)", line)
        if found:
            above[len(found[1]) // 2 :] = [found[2]]
            yield ".".join(above)


def flags(text: str) -> Iterator[str]:
    """Flags of every `add_argument`; those that a loop makes once for each value of the loop."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        values = _values(node) if isinstance(node, ast.For) else ("",)
        for call in _calls(node) if isinstance(node, ast.For) else _own(node):
            yield from (flag for value in values for argument in call.args for flag in _flag(argument, value))


def _values(loop: ast.For) -> tuple[str, ...]:
    elements = loop.iter.elts if isinstance(loop.iter, ast.Tuple | ast.List) else []
    return tuple(each.value for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [call for each in ast.walk(node) for call in _own(each)]


def _own(node: ast.AST) -> list[ast.Call]:
    is_call = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"
    return [node] if isinstance(node, ast.Call) and is_call else []


def _flag(argument: ast.expr, value: str) -> list[str]:
    if isinstance(argument, ast.Constant) and str(argument.value).startswith("--"):
        return [str(argument.value)]
    if isinstance(argument, ast.JoinedStr) and value:
        parts = [str(each.value) if isinstance(each, ast.Constant) else value for each in argument.values]
        return ["".join(parts)]
    return []


if __name__ == "__main__":
    main()

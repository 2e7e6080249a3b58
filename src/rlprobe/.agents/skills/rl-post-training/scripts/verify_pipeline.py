"""The invariants of an RL post-training pipeline, tried on small fixed inputs, value by value.

Fill in adapters.py beside this file, or a copy of it, and run `python verify_pipeline.py [ADAPTERS.py]`. Python
3.10 or newer is enough; torch and numpy are used where they are there. A line that begins with `?` needs a look. An
adapter that is not filled in is such a line: nothing is skipped in silence.

Exit code: 0 every line holds; 1 a value needs a look; 2 wrong usage; 3 nothing needs one, and something was not tried.
"""

import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

if sys.version_info < (3, 10):  # noqa: UP036 - this file is copied to where rlprobe, which needs more, is not
    sys.stderr.write(f"{__file__}: expected Python 3.10 or newer, got {sys.version.split()[0]}.\n")
    sys.exit(2)

LOGITS = [
    [[2.0, 1.0, 0.0, -1.0], [0.0, 3.0, 1.0, 0.5], [1.0, 1.0, 1.0, 1.0]],
    [[-2.0, 0.0, 2.0, 0.0], [5.0, 0.0, 0.0, 0.0], [0.3, 0.1, 0.2, 0.9]],
]
IDS = [[0, 1, 2], [3, 0, 1]]
REWARDS, GROUP = [1.0, 0.0, 0.0, 0.0, 0.2, 0.4, 0.6, 0.8], 4
OLD, SIGNS, MASK = [[-1.0, -2.0, -0.5], [-0.7, -1.5, -3.0]], [1.0, -0.5], [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
CLOSED, OPEN, PLAIN = "<think>why</think>so", "<think>why, and no end", "  plain text, two\nlines "
CLOSE = 1e-3  # largest difference that counts as rounding, float32 beside large logits included
SMALL = 0.1  # largest advantage of clearly different rewards below it: a constant outweighs their spread
Line = tuple[bool | None, str, str]  # whether it holds (None: not tried), what was tried with its values, the invariant
Adapters = Mapping[str, object]


def _reward(given: Adapters) -> Iterator[Line]:
    function = _function(given, "reward")
    right, wrong, answer = (_text(given.get(name), name) for name in ("RIGHT", "WRONG", "ANSWER"))

    def score(text: object) -> float:
        return _flat(function(text, answer))[0]

    best, worst, empty = score(right), score(wrong), score("")
    yield best > worst, f"right {best:g}, wrong {worst:g}", "a right completion scores higher than a wrong one"
    yield best > empty, f"right {best:g}, empty {empty:g}", "an empty completion does not tie with a right one"
    yield score(right) == best, f"again {score(right):g}", "the same text has the same score"
    for name, form in (
        ("line breaks around it", f"\n\n{right}\n"),
        ("reasoning before", f"<think>\n\n</think>{right}"),
    ):
        yield (
            math.isclose(score(form), best),
            f"{name}: {score(form):g}, without: {best:g}",
            "the form does not cost it",
        )
    try:
        decoded = _text(_function(given, "decode")(right))
        yield score(decoded) > worst, f"decoded {decoded!r}: {score(decoded):g}", "a right completion survives decoding"
    except NotImplementedError:
        yield None, "the right completion through decode: NOT TRIED", "fill in decode as well"


def _advantages(given: Adapters) -> Iterator[Line]:
    def of(rewards: Sequence[float]) -> list[float]:
        return _flat(_called(_function(given, "advantages"), list(rewards), GROUP))

    got = of(REWARDS)
    yield len(got) == len(REWARDS), f"{_row(REWARDS)} -> {_row(got)}", "one advantage a sample"
    if len(got) != len(REWARDS):
        return
    yield max(map(abs, got)) > SMALL, f"largest {max(map(abs, got)):.4g}", f"different rewards: beyond {SMALL}"
    sums = [sum(got[:GROUP]), sum(got[GROUP:])]
    yield _near(sums, [0.0, 0.0]), f"sums by group {_row(sums)}", "0 where the group is the baseline"
    ordered = got[0] > max(got[1:GROUP]) and all(a < b for a, b in zip(got[GROUP:], got[GROUP + 1 :], strict=False))
    yield ordered, f"{_row(REWARDS[GROUP:])} -> {_row(got[GROUP:])}", "the order of the rewards"
    equal = of([1.0] * GROUP + REWARDS[GROUP:])
    yield _near(equal[:GROUP], [0.0] * GROUP), f"equal rewards -> {_row(equal[:GROUP])}", "0, and finite"
    yield _near(equal[GROUP:], got[GROUP:]), f"beside them {_row(equal[GROUP:])}", f"as before: {_row(got[GROUP:])}"
    moved = of([reward + 5.0 for reward in REWARDS])
    yield _near(moved, got), f"rewards + 5 -> {_row(moved)}", "a constant changes nothing"
    ratio = of([0.01 * reward for reward in REWARDS])[0] / got[0] if got[0] else math.nan
    either = abs(ratio - 1) < 0.05 or abs(ratio - 0.01) < 0.0005
    yield either, f"rewards / 100 -> {ratio:.4g} times", "1 where a deviation divides, 0.01 where none does"


def _logprobs(given: Adapters) -> Iterator[Line]:
    def of(logits: Sequence[object], ids: Sequence[object]) -> list[float]:
        return _flat(_called(_function(given, "logprobs"), list(logits), list(ids)))

    got = of(LOGITS, IDS)
    shift = int(len(got) == 4)  # two rows of three tokens: four values where the function shifts inside
    want = _log_softmax(shift)
    yield len(got) == len(want), f"{len(got)} values for 6 ids", "[B, T], or [B, T-1] where it shifts inside"
    if len(got) != len(want):
        return
    yield max(got) <= CLOSE, _row(got), "at most 0"
    looks = "".join(f"; looks like {name}" for name, like in _mistakes(shift).items() if _near(got, like))
    yield _near(got, want), _row(got), f"logit minus logsumexp: {_row(want)}{looks}"
    raised = of([[[logit + 100.0 for logit in token] for token in row] for row in LOGITS], IDS)
    yield _near(raised, got), f"logits + 100 -> {_row(raised)}", "a constant changes nothing"
    sure = of([[[100.0 * (v == row[min(t + shift, 2)]) for v in range(4)] for t in range(3)] for row in IDS], IDS)
    yield _near(sure, [0.0] * len(sure)), f"certain tokens -> {_row(sure)}", "0"
    every = [of(LOGITS, [[v] * 3 for _ in IDS]) for v in range(4)]
    total = [sum(math.exp(min(value, 50.0)) for value in column) for column in zip(*every, strict=True)]
    yield _near(total, [1.0] * len(total)), f"sums over all tokens {_row(total)}", "1"


def _loss(given: Adapters) -> Iterator[Line]:
    function = _function(given, "loss")
    value, slopes = _value(function, OLD), _slopes(function, OLD)
    yield math.isfinite(value), f"at ratio 1: {value:.4g}", "one finite number"
    yield max(slopes[0]) < 0, f"advantage {SIGNS[0]:g}: slopes {_row(slopes[0])}", "below 0: descent raises these"
    yield min(slopes[1][:2]) > 0, f"advantage {SIGNS[1]:g}: slopes {_row(slopes[1][:2])}", "above 0: it lowers these"
    yield abs(slopes[1][2]) < 1e-6, f"masked token: slope {slopes[1][2]:.4g}", "0: no gradient on it"
    far = _slopes(function, [[logprob + 1.0 for logprob in row] for row in OLD])  # ratio e, beyond any usual edge
    yield max(map(abs, far[0])) < 1e-5, f"ratio e, advantage above 0: {_row(far[0])}", "0: the clip stops profit"
    yield min(far[1][:2]) > 0, f"ratio e, advantage below 0: {_row(far[1][:2])}", "above 0: the way back is open"


def _decode(given: Adapters) -> Iterator[Line]:
    closed, never, plain = (_text(_function(given, "decode")(text)) for text in (CLOSED, OPEN, PLAIN))
    yield plain == PLAIN, f"{PLAIN!r} -> {plain!r}", "no markers: word for word"
    contracts = {"extract": ("so", ""), "keep": (CLOSED, OPEN)}
    said = str(given.get("REASONING"))
    wanted = [contracts[said]] if said in contracts else list(contracts.values())
    after = [first for first, _ in wanted]
    yield closed.strip() in after, f"{CLOSED!r} -> {closed!r}", f"closed reasoning: {' or '.join(map(repr, after))}"
    fitting = [second for first, second in wanted if closed.strip() == first] or [second for _, second in wanted]
    yield never in fitting, f"{OPEN!r} -> {never!r}", f"never closed: {' or '.join(map(repr, fitting))}"


def _reference(given: Adapters) -> Iterator[Line]:
    answer = _function(given, "reference")()
    if not isinstance(answer, (list, tuple)) or len(answer) != 3:
        raise TypeError("expected three arrays of log-probs: policy before, reference before, reference after")
    policy, before, after = map(_flat, answer)
    yield _near(policy, before), f"policy {_row(policy)}, reference {_row(before)}", "equal before the first update"
    yield before == after, f"after one step {_row(after)}", "as before, to the last digit"


PROBES = {probe.__name__[1:]: probe for probe in (_reward, _advantages, _logprobs, _loss, _decode, _reference)}


def _log_softmax(shift: int) -> list[float]:
    return [token[v] - math.log(sum(map(math.exp, token))) for token, v in _chosen(shift)]


def _chosen(shift: int) -> list[tuple[list[float], int]]:
    return [(row[t], ids[t + shift]) for row, ids in zip(LOGITS, IDS, strict=True) for t in range(3 - shift)]


def _mistakes(shift: int) -> dict[str, list[float]]:
    want = _log_softmax(shift)
    named = {"the sign turned round": [-x for x in want], "raw logits": [token[v] for token, v in _chosen(shift)]}
    return {
        **named,
        "probabilities": [math.exp(x) for x in want],
        "logarithms to base 2": [x / math.log(2) for x in want],
    }


def _value(function: Callable[..., object], rows: list[list[float]]) -> float:
    answer = _called(function, rows, OLD, SIGNS, MASK)
    return _flat(answer[0] if isinstance(answer, tuple) else answer)[0]


def _slopes(function: Callable[..., object], rows: list[list[float]]) -> list[list[float]]:
    """Of the loss by each log-prob: by autograd where torch and a graph are there, else by central differences."""
    with suppress(Exception):
        import torch

        leaf = torch.tensor(rows, requires_grad=True)
        answer = function(leaf, *map(torch.tensor, (OLD, SIGNS, MASK)))
        scalar = answer[0] if isinstance(answer, tuple) else answer
        return [[float(slope) for slope in row] for row in torch.autograd.grad(scalar, leaf)[0]]

    def bumped(i: int, t: int, by: float) -> float:
        return _value(
            function, [[x + by * ((i, t) == (r, c)) for c, x in enumerate(row)] for r, row in enumerate(rows)]
        )

    return [[(bumped(i, t, 0.05) - bumped(i, t, -0.05)) / 0.1 for t in range(3)] for i in range(len(rows))]


def _near(left: Sequence[float], right: Sequence[float]) -> bool:
    return len(left) == len(right) and all(abs(a - b) <= CLOSE for a, b in zip(left, right, strict=True))


def _row(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{value:.4g}' for value in values)}]"


def _function(given: Adapters, name: str) -> Callable[..., object]:
    if name not in given:
        raise NotImplementedError
    function = given[name]
    if not callable(function):
        raise TypeError(f"{name}: expected a function, got {type(function).__name__}")
    return function


def _called(function: Callable[..., object], *args: object) -> object:
    """The answer to arguments of the first kind that the function takes: torch, numpy, lists."""
    kinds: list[Callable[[object], object]] = [lambda value: value]
    with suppress(ImportError):
        import numpy

        kinds.insert(0, numpy.array)
    with suppress(ImportError):
        import torch

        kinds.insert(0, torch.tensor)
    first: Exception | None = None
    for kind in kinds:
        try:
            return function(*(kind(arg) if isinstance(arg, list) else arg for arg in args))
        except NotImplementedError:
            raise
        except Exception as error:  # told where no kind is taken
            first = first or error
    raise first or TypeError("no kind of array is there")


def _flat(value: object) -> list[float]:
    """Any array, nested list or number as a flat list of numbers."""
    value = value.detach() if hasattr(value, "detach") else value
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in _flat(part)]
    return [float(value)]  # type: ignore[arg-type]  # what is no number raises, and that is told


def _text(value: object, name: str = "decode") -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected text, got {type(value).__name__}")
    return value


def main(words: Sequence[str]) -> int:
    """Print every line; returns the exit code."""
    if len(words) > 1 or any(word.startswith("-") for word in words):
        print(__doc__)
        return 0 if words[0] in ("-h", "--help") else 2
    path = words[0] if words else str(Path(__file__).with_name("adapters.py"))
    try:
        given = _adapters(path)
    except Exception as error:
        print(f"{path}: {type(error).__name__}: {error}. Name a Python file with adapters.", file=sys.stderr)
        return 2
    lines = [line for name in PROBES for line in _told(given, name)]
    wrong, missing = lines.count(False), lines.count(None)
    print(f"\n{len(lines)} lines: {lines.count(True)} hold, {wrong} need a look, {missing} not tried. {_rlprobe()}")
    return 1 if wrong else 3 if missing else 0


def _told(given: Adapters, name: str) -> list[bool | None]:
    """Print the lines of one adapter; returns what came of each."""
    print(f"{name}   {_place(given.get(name))}")
    came: list[bool | None] = []
    try:
        for holds, values, invariant in PROBES[name](given):
            came.append(holds)
            print(f"{' ' if holds else '?'}   {values}   must be: {invariant}")
    except NotImplementedError:
        came.append(None)
        print("?   NOT TRIED: this adapter is not filled in")
    except Exception as error:
        came.append(False)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(f"?   raised {type(error).__name__} in {frame.filename}:{frame.lineno}: {error}")
    return came


def _adapters(path: str) -> dict[str, object]:
    spec = importlib.util.spec_from_file_location("adapters", path)
    if spec is None or spec.loader is None:
        raise ImportError("no Python file")
    sys.path[:0] = [str(Path(path).resolve().parent), str(Path.cwd())]  # so that your own modules are found
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def _place(function: object) -> str:
    with suppress(TypeError, OSError):
        return f"{inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]}"  # type: ignore[arg-type]  # raises
    return ""


def _rlprobe() -> str:
    adds = "shrinks the input, names the line, and tries masks, KL, clip edges, groups, settings and a live TRL trainer"
    if importlib.util.find_spec("rlprobe") is None:
        return f"With `pip install rlprobe`, `rlprobe verify` {adds}."
    return f"rlprobe {metadata.version('rlprobe')} is here: `rlprobe verify TARGET` {adds}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

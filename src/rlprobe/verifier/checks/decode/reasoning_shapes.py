"""Reasoning that is opened and closed, never closed, empty, nested or absent leaves what the contract says: all of it,
or what follows the reasoning."""

from collections.abc import Iterator

from rlprobe.verifier.measure.reasoning import ANSWER, REASONING, Contract, contract, usable
from rlprobe.verifier.outcome import Check, Outcome, failed, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V503",
    title="reasoning is kept or cut off as declared, in every shape",
    formula="text(reasoning + answer) = answer, or all of it, as declared",
    stage="decode",
    category="string processing",
    needs=("decode",),
    fix="Repair the one branch that is off (closed, never closed, no markers); the others stay.",
    causes=("DECODE_MISMATCH", "EMPTY_COMPLETIONS", "REWARD_TEXT_MISMATCH", "REWARD_CONSTANT"),
)


def run(subject: Subject) -> Outcome:
    """Each shape encoded, ended, padded and decoded."""
    held = contract(subject)
    if not usable(held.decoder, held.whole):
        return passed("the tokenizer cannot spell the tags")
    if held.family == "none":
        return _neither(held)
    shapes = _kept(held) if held.family == "keep" else _extracted(held)
    for name, text, allowed, sure in shapes:
        if not usable(held.decoder, text):
            continue
        got = held.decoder.text(text)
        found = got.strip()
        if found not in allowed and (sure or not allowed[0] or not found.endswith(allowed[0])):
            told = failed if sure else warned
            return told(
                "decode",
                f"A completion with {name} decodes to {got!r:.80}, expected {allowed[0]!r:.80} (reasoning is "
                f"{'kept' if held.family == 'keep' else 'cut off'}{', as declared' if held.declared else ''}).",
                expected=repr(allowed[0])[:120],
                got=repr(got)[:120],
                example={"text": text},
                fingerprint=_mistake(held, name, got),
                where=held.decoder.where,
            )
    return passed(f"reasoning is {'kept' if held.family == 'keep' else 'cut off'}")


def _kept(held: Contract) -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
    for name, text, _, _ in _extracted(held):
        yield name, text, (text.strip(),), True


def _extracted(held: Contract) -> Iterator[tuple[str, str, tuple[str, ...], bool]]:
    """(what it is, completion, what may come of it, whether anything else is a fault without a declaration)."""
    opened, closed, text = f"<{held.tag}>", f"</{held.tag}>", held.text
    lines = f"\n{REASONING}\n\nSo:\n1. it is\n"
    yield "closed reasoning", text(REASONING, ANSWER), (ANSWER,), True
    yield "reasoning of several lines", text(lines, f"\n\n{ANSWER}"), (ANSWER,), True
    rest = "First line.\nSecond line, indented:\n    x = 1"
    yield "an answer of several lines", text(REASONING, rest), (rest,), True
    yield "an answer with signs", text(REASONING, "if a < b > c: <b>4</b> & 5"), ("if a < b > c: <b>4</b> & 5",), True
    yield "a short answer", text(REASONING, "7"), ("7",), True
    yield "empty reasoning", text("", ANSWER), (ANSWER,), True
    yield "reasoning and blanks", text(f" {REASONING} ", f" {ANSWER} \n"), (ANSWER,), True
    yield "markers alone", text("", ""), ("",), True
    yield "reasoning without an answer", text(REASONING, ""), ("",), True
    yield "reasoning never closed", f"{opened}{REASONING}", ("",), held.declared
    yield "an opened marker alone", opened, ("",), held.declared
    yield "a closing marker alone before the answer", f"{REASONING}{closed}{ANSWER}", (
        ANSWER, f"{REASONING}{closed}{ANSWER}",
    ), True  # fmt: skip
    twice = f"{text(REASONING, ANSWER)}{text('Again.', 'It is 43.')}"
    yield "reasoning twice", twice, ("It is 43.", f"{ANSWER}It is 43.", f"{ANSWER}{text('Again.', 'It is 43.')}"), False
    yield "nested reasoning", text(f"a {text('b', ' c')} d", ANSWER), (ANSWER, f"d{closed}{ANSWER}"), False


def _neither(held: Contract) -> Outcome:
    got = held.got.strip()
    empty, reasoning = not got, REASONING in got and ANSWER not in got
    told = failed if empty or reasoning or ANSWER not in got else warned
    return told(
        "decode",
        f"{held.whole!r} decodes to {held.got!r:.80}: neither all of it nor what follows the reasoning.",
        expected=f"{held.whole!r} or {ANSWER!r}",
        got=repr(held.got)[:120],
        example={"text": held.whole},
        fingerprint="empty" if empty else "the reasoning instead of the answer" if reasoning else "",
        where=held.decoder.where,
    )


def _mistake(held: Contract, name: str, got: str) -> str:
    if not got.strip():
        return "the text comes out empty"
    if REASONING in got and held.family == "extract":
        return "the reasoning of a truncated completion is handed on" if "never" in name else "reasoning is not cut off"
    return "the reasoning is cut off" if held.family == "keep" and REASONING not in got else ""

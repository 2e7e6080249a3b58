"""Shapes that completions come in: the ordinary ones and those on which string code breaks."""

LETTERS = "naïve Straße 東京 🙂 e\u0301 \u200b"


def awkward(gold: str) -> tuple[tuple[str, str], ...]:
    """(what it is, text): any reward function and any decoder has to live with them; gold is a rewarded text."""
    return (
        ("empty", ""),
        ("blank", " "),
        ("a newline", "\n"),
        ("one letter", "x"),
        ("a number alone", "7"),
        ("a point alone", "."),
        ("an opened tag", "<think>"),
        ("closed tags without content", "<think></think><answer></answer>"),
        ("an answer tag never closed", "<think>So.</think><answer>7"),
        ("a closing tag alone", "</think>7</answer>"),
        ("nested tags", "<think><think>So.</think></think><answer><answer>7</answer></answer>"),
        ("a box never closed", "so \\boxed{7"),
        ("an empty box", "\\boxed{}"),
        ("a nested box", "\\boxed{\\frac{1}{2}}"),
        ("a marker without a number", "So.\n####"),
        ("a marker with a word", "So.\n#### none"),
        ("a fraction", "#### 1/0 \\boxed{1/0} <answer>1/0</answer>"),
        ("a number with commas", "#### 1,234,567. \\boxed{1,234,567.} <answer>1,234,567.</answer>"),
        ("commas and signs", "#### -,., \\boxed{-,.,} <answer>-,.,</answer>"),
        ("an empty code block", "```python\n```"),
        ("broken code", "```python\n[1, 2\n```"),
        ("code of a number", "```python\n5\n```"),
        ("a fence never closed", "```python\n[1]"),
        ("foreign letters", LETTERS),
        ("braces and percent signs", "{} {0} %s %d \\1 $^ (["),
        ("very long", "word " * 1000),
        ("very long without blanks", "a" * 5000),
        ("the rewarded text cut in the middle", gold[: len(gold) // 2]),
        ("the rewarded text twice", gold + gold),
        ("the rewarded text with text around it", f"Well.\n{gold}\nThat is all."),
    )

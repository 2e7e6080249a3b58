"""One sample on a page of a terminal: its numbers in a column on the left, its texts beside them."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from rlprobe.reports import format as say
from rlprobe.reports.visible import pieces

SHORT = 1200  # characters of a text that are shown unless all is asked for
WHOLE = 1 << 17  # characters of a text that are shown when all is asked for
PIECE_STYLES = {
    "text": "",
    "repeated": "yellow",
    "special": "magenta",
    "control": "cyan",
    "note": "dim italic",
    "found": "bold reverse",
}
LABELS: Mapping[str, str] = {
    "true_reward": "true reward",
    "completion_tokens": "tokens",
    "stop_reason": "stopped by",
    "logprob": "log-prob",
    "reference_logprob": "reference",
    "sampler_logprob": "sampler",
    "kl": "KL",
    "ratio_mean": "ratio",
    "ratio_max": "ratio max",
    "clip_fraction": "clipped",
}
NUMBERS = (  # after the rewards, in this order
    "true_reward",
    "right",
    "advantage",
    "completion_tokens",
    "stop_reason",
    "repetition",
    "logprob",
    "kl",
    "ratio_mean",
    "ratio_max",
    "clip_fraction",
    "entropy",
    "staleness",
)
SIGNED = frozenset({"advantage"})


def name(row: Mapping[str, object]) -> str:
    """How a sample is called: STEP/SAMPLE."""
    return f"{shown('step', row.get('step', '?'))}/{shown('sample', row.get('sample', '?'))}"


def shown(column: str, value: object) -> str:
    """A value of a sample as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        text = say.number(value)
        return f"+{text}" if column in SIGNED and value > 0 else text
    if isinstance(value, int):
        return str(value)
    return say.cut(value, 60)


def rewards(row: Mapping[str, object]) -> list[tuple[str, str]]:
    """The total reward, then the reward of each function, as (label, value)."""
    total = [("reward", shown("reward", row["reward"]))] if "reward" in row else []
    parts = [(f"  {say.plain(c.split('/', 1)[1])}", shown(c, v)) for c, v in row.items() if c.startswith("reward/")]
    return total + parts


def numbers(row: Mapping[str, object]) -> list[tuple[str, str]]:
    """Everything else that a sample has as a number or a word, as (label, value)."""
    listed = [(LABELS.get(each, each), shown(each, row[each])) for each in NUMBERS if each in row]
    return [*listed, ("cut", "at the cap")] if row.get("truncated") is True else listed


def texts(row: Mapping[str, object]) -> list[tuple[str, str]]:
    """The sample's texts, as (label, text): prompt, completion, and what a reward function got instead."""
    out = [(each, str(row[each])) for each in ("prompt", "completion") if each in row]
    handed = [(f"text that {c.split('/', 1)[1]} got", str(v)) for c, v in row.items() if c.startswith("reward_text/")]
    return out + handed


def foreign(text: str, *, room: int, find: Sequence[str] = ()) -> Text:
    """A model's text, made visible."""
    out = Text()
    for piece in pieces(text, room=room, find=tuple(find)):
        out.append(piece.text, style=PIECE_STYLES[piece.kind])
    return out if out.plain else Text("⟨empty⟩", style="dim italic")


def card(
    row: Mapping[str, object],
    *,
    room: int,
    find: Sequence[str] = (),
    key: tuple[str, str] | None = None,
    prompt: bool = True,
) -> RenderableType:
    """A sample as a block of a page.

    Args:
        row: the sample.
        room: characters of each text, about.
        find: texts whose occurrences are marked.
        key: (label, value) of what the page is ordered by, where the sample itself does not show it.
        prompt: whether the prompt is shown.
    """
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    left = Table.grid(padding=(0, 1))
    left.add_column(style="cyan", no_wrap=True, max_width=16)
    left.add_column(justify="right", no_wrap=True, max_width=12)
    for label, value in [*([key] if key else []), *rewards(row), *numbers(row)]:
        left.add_row(Text(label), Text(value, style="bold" if label == "reward" else ""))
    blocks: list[RenderableType] = []
    for label, text in texts(row):
        if label == "prompt" and not prompt:
            continue
        blocks += [Text(say.cut(label, 60), style="dim"), foreign(text, room=room, find=find)]
    grid.add_row(left, Group(*blocks) if blocks else Text("no text was recorded", style="dim italic"))
    return Group(_bar(row), grid)


def _bar(row: Mapping[str, object]) -> RenderableType:
    bar = Table.grid(expand=True, padding=(0, 1))
    bar.add_column()
    bar.add_column(ratio=1)
    bar.add_column(justify="right")
    ids = [f"group {say.cut(row['group'], 24)}"] if "group" in row else []
    if "prompt_id" in row and row["prompt_id"] != row.get("group"):
        ids.append(f"prompt {say.cut(row['prompt_id'], 16)}")
    if row.get("split") not in (None, "train"):
        ids.append(say.cut(row["split"], 20))
    if not ids:
        return Rule(Text(name(row), style="bold"), align="left", style="dim")
    bar.add_row(Text(name(row), style="bold"), Rule(style="dim"), Text(" · ".join(ids), style="dim"))
    return bar

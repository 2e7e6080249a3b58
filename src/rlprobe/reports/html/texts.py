"""The samples: from before an onset against from after it, prompt, completion, rewards by function, advantage."""

from collections.abc import Sequence

from rlprobe.reports import format as say
from rlprobe.reports import phrases
from rlprobe.reports.html.course import letter
from rlprobe.reports.html.dossier import Dossier, Exhibit, Sample, Text
from rlprobe.reports.html.markup import lines, tag, text, written

SHORT = 20  # characters of a reward function's name that are shown whole


def samples(dossier: Dossier) -> str:
    """The section of samples; says how to record some where there are none."""
    found = dossier.samples
    head = tag("h2", "Samples")
    if not found.exhibits:
        how = (
            "No sample was recorded. Record some with <code>rlprobe.attach(trainer, run_dir)</code> or "
            "<code>Recorder.log_samples(step, samples)</code>: then this section shows what the policy wrote before "
            "and after each onset."
        )
        return lines(('<section id="samples">', head, tag("p", how, class_="nothing"), "</section>"))
    count = f"{say.counted(found.rows, 'sample')} of {say.counted(found.steps, 'step')} are in the run"
    count += "; these stand behind the findings." if any(one.findings for one in found.exhibits) else "."
    command = tag("code", text(f"rlprobe samples {say.argument(dossier.diagnosis.source)}"))
    count += f" All of them: {command}."
    parts = [_exhibit(dossier, one) for one in found.exhibits]
    return lines(('<section id="samples">', head, tag("p", count, class_="hint"), *parts, "</section>"))


def _exhibit(dossier: Dossier, one: Exhibit) -> str:
    letters = "".join(
        tag("a", letter(place), class_=f"letter {dossier.findings[place].severity}", href=f"#finding-{letter(place)}")
        for place in one.findings
    )
    title = phrases.name(dossier.findings[one.findings[0]]) if one.findings else "The run's beginning and its end"
    more = f" and {len(one.findings) - 1} more" if len(one.findings) > 1 else ""
    names = ("Before the onset", "After it") if one.findings else ("Early", "Late")
    sides = "".join(
        _side(name, found, prompt=not one.same_prompt) for name, found in zip(names, (one.early, one.late), strict=True)
    )
    prompt = ""
    if one.same_prompt and one.late:
        prompt = f'<div class="prompt">{tag("h4", "The same prompt")}{_text(one.late[-1].prompt)}</div>'
    return lines(
        (
            '<article class="exhibit">',
            tag("h3", f"{letters} {text(title)}{more}"),
            tag("p", text(_why(one)), class_="hint"),
            prompt,
            f'<div class="sides{"" if one.early else " single"}">{sides}</div>',
            "</article>",
        )
    )


def _why(one: Exhibit) -> str:
    chosen = f"chosen by {one.column}" if one.column else "chosen by time"
    if one.same_prompt:
        return f"One prompt, early against late; {chosen}."
    if one.early:
        return (
            f"Typical early samples against late ones that stand out; {chosen}. No prompt was recorded on both sides."
        )
    return f"Late samples that stand out; {chosen}."


def _side(name: str, found: Sequence[Sample], *, prompt: bool) -> str:
    if not found:
        return ""
    cards = "".join(_card(one, prompt=prompt) for one in found)
    return f'<div class="side"><h4>{name}</h4>{cards}</div>'


def _card(one: Sample, *, prompt: bool) -> str:
    numbers = [("reward", say.number(one.reward)), *((name, say.number(value)) for name, value in one.rewards)]
    numbers.append(("advantage", say.number(one.advantage)))
    if one.tokens is not None:
        numbers.append(("tokens", f"{one.tokens:,}"))
    parts = {name for name, _ in one.rewards}
    told = "".join(
        tag(
            "div",
            tag("dt", text(name), title=name if len(name) > SHORT else None) + tag("dd", text(value)),
            class_="part" if name in parts else None,
        )
        for name, value in numbers
    )
    facts = " · ".join(f"{text(name)} {text(value)}" for name, value in one.facts)
    its_prompt = f'<details class="its-prompt"><summary>Prompt</summary>{_text(one.prompt)}</details>'
    return lines(
        (
            '<div class="sample">',
            tag("p", f"step {one.step:,}{tag('span', f'sample {text(one.sample)}')}", class_="place"),
            f'<dl class="numbers">{told}</dl>',
            its_prompt if prompt and one.prompt.shown else "",
            _text(one.completion, "Completion"),
            tag("p", facts, class_="facts-line") if facts else "",
            "</div>",
        )
    )


def _text(one: Text, label: str = "Prompt") -> str:
    """A text as it was written; what was cut off is counted."""
    if not one.characters:
        return tag("p", f"{label}: not recorded, or empty.", class_="hint")
    left = one.characters - len(one.shown)
    cut = tag("p", f"{say.counted(left, 'more character')} left out", class_="hint") if left else ""
    shown = f'<pre tabindex="0" dir="auto" aria-label="{label}">{written(one.shown)}</pre>'
    return shown + cut

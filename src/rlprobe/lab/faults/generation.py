"""Faults of generation: stopping, length, sampling, decoding, tools."""

from dataclasses import replace

from rlprobe.lab import rewards
from rlprobe.lab.catalog import BASE, Fault
from rlprobe.lab.losses import Coefficients
from rlprobe.lab.policy import BoolArray
from rlprobe.lab.recipe import Seams, State
from rlprobe.lab.rewards import Part
from rlprobe.lab.tasks import Task
from rlprobe.lab.vocabulary import EOS

_CORRECT = Part(name="correct", function=rewards.correct)
_FREE = Coefficients(kl=0.0)


def _wears_out(calls: int, state: State) -> BoolArray:
    """The chance that a call works falls from 95 % to 5 % over the run."""
    return state.rng.random(calls) < 0.95 - 0.9 * state.step / state.steps


FAULTS: tuple[Fault, ...] = (
    Fault(
        name="eos-blocked",
        description="The sampler never writes the end token.",
        signatures=("NO_EOS",),
        recipe=replace(BASE, sampling=replace(BASE.sampling, blocked=(EOS,))),
    ),
    Fault(
        name="cap-short",
        description="The length cap is shorter than a whole answer.",
        signatures=("TRUNCATION_STARVE", "REWARD_COMPONENT_DEAD"),
        recipe=replace(BASE, sampling=replace(BASE.sampling, cap=4)),
    ),
    Fault(
        name="brevity-paid",
        description="A length penalty outweighs the answer: completions shrink to nothing.",
        signatures=("LENGTH_COLLAPSE",),
        onset=None,
        recipe=replace(
            BASE,
            task=Task(wrong=0.9, malformed=0.3),
            parts=(replace(_CORRECT, weight=0.3), Part(name="brevity", function=rewards.brevity, weight=12.0)),
            coefficients=Coefficients(kl=0.0, entropy=0.01),
        ),
    ),
    Fault(
        name="thoughts-paid",
        description="Every thought is paid a little beside the answer: completions grow without gain.",
        signatures=("LENGTH_EXPLOSION", "REWARD_HACK_LENGTH"),
        onset=None,
        recipe=replace(
            BASE,
            parts=(replace(_CORRECT, weight=0.5), Part(name="detail", function=rewards.length, weight=0.7)),
            sampling=replace(BASE.sampling, cap=48),
            coefficients=_FREE,
            learning_rate=1e-3,
        ),
    ),
    Fault(
        name="repetition-paid",
        description="A fluency score pays characters that repeat the one before.",
        signatures=("REPETITION_SPIRAL", "REWARD_HACK_LENGTH"),
        onset=None,
        recipe=replace(
            BASE,
            parts=(replace(_CORRECT, weight=0.2), Part(name="fluency", function=rewards.repetition, weight=2.0)),
            sampling=replace(BASE.sampling, cap=24),
            coefficients=_FREE,
        ),
    ),
    Fault(
        name="foreign-script-paid",
        description="The judge was made for another language: its letters are paid.",
        signatures=("GIBBERISH",),
        onset=None,
        recipe=replace(
            BASE,
            parts=(replace(_CORRECT, weight=0.1), Part(name="judge", function=rewards.exotic, weight=4.0)),
            scaling="none",
            coefficients=Coefficients(kl=0.0, entropy=0.01),
            learning_rate=3e-3,
        ),
    ),
    Fault(
        name="decode-blanks",
        description="The decoder drops every token: the reward functions and the log see empty texts.",
        signatures=("EMPTY_COMPLETIONS",),
        recipe=replace(BASE, seams=Seams(decoded=lambda texts, state: tuple("" for _ in texts))),
    ),
    Fault(
        name="same-seed",
        description="Every sample of a group is drawn with the same random numbers.",
        signatures=("DUPLICATE_COMPLETIONS", "DEGENERATE_GROUPS"),
        recipe=replace(BASE, sampling=replace(BASE.sampling, shared_draws=True)),
    ),
    Fault(
        name="temperature-low",
        description="A sampling temperature of 0.05: the samples of a group are the same.",
        signatures=("DUPLICATE_COMPLETIONS", "CONFIG_MISUSE", "DEGENERATE_GROUPS"),
        recipe=replace(BASE, sampling=replace(BASE.sampling, temperature=0.05)),
    ),
    Fault(
        name="tool-down",
        description="From 40 % of the run on the tool fails, and a failed call costs: the policy stops calling.",
        signatures=("TOOL_USE_COLLAPSE",),
        onset=0.4,
        recipe=replace(
            BASE,
            task=Task(tools=0.5),
            parts=(_CORRECT, Part(name="tool", function=rewards.tool_use)),
            coefficients=Coefficients(kl=0.05),
            seams=Seams(
                tool_works=lambda calls, state: (
                    state.rng.random(calls) < (0.95 if state.step <= 0.4 * state.steps else 0.05)
                )
            ),
        ),
    ),
    Fault(
        name="tool-wears-out",
        description="The tool fails ever more often, and a failed call costs: the policy calls less and less.",
        signatures=("TOOL_USE_COLLAPSE",),
        onset=None,
        recipe=replace(
            BASE,
            task=Task(tools=0.5),
            parts=(_CORRECT, Part(name="tool", function=rewards.tool_use)),
            coefficients=Coefficients(kl=0.2),
            learning_rate=1e-3,
            seams=Seams(tool_works=_wears_out),
        ),
    ),
)

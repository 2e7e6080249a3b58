"""Faults of the policy, its reference, its sampler and its clip."""

from dataclasses import replace

import numpy as np

from rlprobe.lab import rewards, schooling
from rlprobe.lab.catalog import BASE, Fault
from rlprobe.lab.losses import Coefficients
from rlprobe.lab.policy import OFFSETS, PROMPT, Weights
from rlprobe.lab.recipe import Seams, State
from rlprobe.lab.rewards import Part
from rlprobe.lab.tasks import Task
from rlprobe.lab.vocabulary import IntArray

_CORRECT = Part(name="correct", function=rewards.correct)
_OTHER_SEED = 1_000_003  # of the reference that belongs to another base policy


def _foreign_reference(reference: Weights, state: State) -> Weights:
    """Another base policy, taught the same but not the same."""
    if state.step > 1:
        return reference
    return schooling.base_policy(BASE.task, seed=_OTHER_SEED, hidden=BASE.hidden, lessons=BASE.lessons)


def _other_template(rows: IntArray, place: IntArray) -> IntArray:
    """The prompt's tokens one place further on, the last one first."""
    del place
    tokens = np.roll(rows[:, :PROMPT] - OFFSETS[:PROMPT], 1, axis=1)
    return np.concatenate([tokens + OFFSETS[:PROMPT], rows[:, PROMPT:]], axis=1)


def _blind_start(rows: IntArray, place: IntArray) -> IntArray:
    """Every token of the prompt is another one where a completion begins."""
    seen = rows.copy()
    seen[place == 0, :PROMPT] = OFFSETS[:PROMPT]
    return seen


FAULTS: tuple[Fault, ...] = (
    Fault(
        name="entropy-sign",
        description="The entropy bonus has the wrong sign: exploration is punished before anything is learned.",
        signatures=("ENTROPY_COLLAPSE", "CONFIG_MISUSE"),
        onset=None,
        recipe=replace(BASE, task=Task(wrong=0.95, malformed=0.3), coefficients=Coefficients(kl=0.0, entropy=-8.0)),
    ),
    Fault(
        name="entropy-bonus",
        description="The entropy bonus outweighs the reward: the text turns to noise.",
        signatures=("ENTROPY_EXPLOSION", "GIBBERISH"),
        onset=None,
        recipe=replace(BASE, coefficients=Coefficients(kl=0.0, entropy=0.5)),
    ),
    Fault(
        name="kl-escape",
        description="No KL term, a random judge and a large learning rate: the policy wanders off.",
        signatures=("KL_BLOWUP", "NO_LEARNING"),
        onset=None,
        recipe=replace(
            BASE,
            coefficients=Coefficients(kl=0.0),
            learning_rate=6e-3,
            seams=Seams(returned=lambda returned, state: returned + 2.0 * state.rng.standard_normal(returned.shape)),
        ),
    ),
    Fault(
        name="kl-dominates",
        description="The KL coefficient is a thousand times too large: the policy cannot leave its reference.",
        signatures=("KL_DOMINATES",),
        recipe=replace(BASE, coefficients=Coefficients(kl=20.0)),
    ),
    Fault(
        name="wrong-reference",
        description="The reference is another base policy: the KL is not zero before the first update.",
        signatures=("REFERENCE_MISMATCH",),
        recipe=replace(BASE, seams=Seams(reference=_foreign_reference)),
    ),
    Fault(
        name="reference-template",
        description="The reference reads the prompts through another template.",
        signatures=("REFERENCE_MISMATCH",),
        recipe=replace(BASE, seams=Seams(reference_view=_other_template)),
    ),
    Fault(
        name="moving-reference",
        description="The reference shares its weights with the policy: the KL stays zero.",
        signatures=("REFERENCE_MOVING",),
        recipe=replace(BASE, seams=Seams(reference=lambda reference, state: state.policy)),
    ),
    Fault(
        name="reference-first-token",
        description="The reference scores each first token without the prompt: the drift sits at one position.",
        signatures=("REF_POLICY_DRIFT_ASYMMETRY", "REFERENCE_MISMATCH"),
        recipe=replace(BASE, seams=Seams(reference_view=_blind_start)),
    ),
    Fault(
        name="coarse-sampler",
        description="The sampler's weights are rounded to three bits.",
        signatures=("TRAIN_INFER_MISMATCH",),
        recipe=replace(BASE, sampling=replace(BASE.sampling, weight_bits=2)),
    ),
    Fault(
        name="unsynced-sampler",
        description="New weights never reach the sampler.",
        signatures=("STALE_ROLLOUT_WEIGHTS",),
        recipe=replace(BASE, seams=Seams(lag=lambda state: state.step)),
    ),
    Fault(
        name="unscored-sampling",
        description="The sampler draws from the two likeliest tokens at a low temperature; the scored policy does not.",
        signatures=("DECODE_MISMATCH", "RATIO_NOT_ONE"),
        recipe=replace(
            BASE,
            old_from_sampler=True,
            seams=Seams(sampling=lambda sampling, state: replace(sampling, top_k=2, temperature=0.7)),
        ),
    ),
    Fault(
        name="dropout-on",
        description="Dropout is on in the update and off when the old log-probs are taken.",
        signatures=("RATIO_NOT_ONE",),
        recipe=replace(BASE, dropout=0.1),
    ),
    Fault(
        name="tight-clip",
        description="A clip range of 0.0001 with four passes: most of the gradient is cut away.",
        signatures=("CLIP_SATURATION",),
        recipe=replace(
            BASE,
            coefficients=Coefficients(kl=0.02, clip_low=1e-4, clip_high=1e-4),
            passes=4,
            learning_rate=5e-4,
        ),
    ),
    Fault(
        name="positives-muted",
        description="Right answers weigh a thousandth of wrong ones: pushing those down takes the right ones along.",
        signatures=("LIKELIHOOD_DISPLACEMENT", "LENGTH_BIAS"),
        onset=None,
        recipe=replace(
            BASE,
            task=Task(wrong=1.0),
            parts=(_CORRECT,),
            coefficients=Coefficients(kl=0.0),
            loss_scale="sequence",
            sampling=replace(BASE.sampling, cap=32),
            learning_rate=1e-3,
            seams=Seams(credited=lambda given, totals, state: np.where(given < 0, given, 0.001 * given)),
        ),
    ),
    Fault(
        name="preference-fast",
        description="DPO with a learning rate a hundred times too large: chosen answers lose likelihood as well.",
        signatures=("PREFERENCE_COLLAPSE", "LR_ANOMALY"),
        onset=None,
        recipe=replace(BASE, algorithm="dpo", beta=0.05, learning_rate=3e-2),
    ),
    Fault(
        name="preference-drift",
        description="DPO with next to no hold on the reference: chosen answers lose likelihood slowly and without end.",
        signatures=("PREFERENCE_COLLAPSE",),
        onset=None,
        recipe=replace(BASE, algorithm="dpo", beta=0.05, learning_rate=8e-4),
    ),
)

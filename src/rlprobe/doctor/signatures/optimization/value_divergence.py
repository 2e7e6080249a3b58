"""The value head no longer predicts returns: its mean leaves the reward scale, or its loss climbs off its minimum."""

from numpy import fmax, inf, nan, where

from rlprobe.doctor.rows import Rows
from rlprobe.doctor.signature import Advice, Judgement, Signature, Threshold
from rlprobe.recording.run import BoolArray, FloatArray

WARM_UP = 10  # observations in which a fresh critic may be anywhere
SETTLING = 40  # observations before explained variance is expected to be positive
LOSS_WINDOW = 30  # observations that a level of the loss is the median of: its noise is heavy and slow
WINDOW = 15  # observations that a level is the median of

SIGNATURE = Signature(
    id="VALUE_DIVERGENCE",
    stage="optimization",
    severity="warning",
    arm="level",
    requires=("value_mean|value_loss|value_explained_variance",),
    helps=("reward_mean", "return_mean", "reward_with_kl_mean"),
    shows=("value_mean", "value_loss", "value_explained_variance", "reward_mean"),
    thresholds=(
        Threshold(
            "distance",
            4.0,
            "times the reward's range",
            "a mean value this far from the mean reward predicts nothing; healthy critics stay within 2.2, failing "
            "ones reach 7 to 240",
        ),
        Threshold(
            "climb",
            3.5,
            "times the smallest loss so far",
            "a critic's loss that settles above it has unlearned; healthy ones rise by at most 1.8 as rewards grow, "
            "failing ones by 4.9 to 45",
        ),
        Threshold("back", 2.0, "times the smallest loss so far", "a loss below it again has recovered"),
        Threshold("gain", 2.0, "standard errors", "a reward that rises by more than this makes the loss grow"),
        Threshold(
            "beyond", 10.0, "times either bound", "so far out the advantages are the critic's error and nothing else"
        ),
        Threshold("explained", 0.0, "fraction of variance", "below it a constant would predict better", low=-10.0),
        Threshold("penalty", 2.0, "times the reward's range", "a KL penalty above it explains the loss"),
    ),
    title="The value head no longer predicts the returns",
    explanation="The critic has lost the returns since step {onset}: {metric} stands at {after}, from {before}. "
    "Advantages built on it are noise.",
    record="Log value_mean and value_loss, and value_explained_variance where the trainer has it.",
    remedies=(
        Advice(text="Lower the critic's learning rate.", setting="value_learning_rate", scale=0.1),
        Advice(text="Train the critic alone for a while before the policy moves."),
        Advice(text="Clip or normalise returns, so that one batch cannot carry the critic away."),
        Advice(text="Set lambda to 1 for the critic's own targets, so that it does not chase its own predictions."),
        Advice(text="Use group baselines instead of a critic where several samples a prompt are affordable."),
    ),
)


def judge(rows: Rows) -> Judgement:
    """Fires when value or loss has settled out of its range, unless a KL penalty in the reward explains it."""
    value, loss = rows.series("value_mean"), rows.series("value_loss")
    reward = rows.smooth("reward_mean", WINDOW)
    spread = _spread(rows, reward)
    away = abs(value.values - reward) > rows.limit("distance") * spread
    off = rows.level("away", away & (rows.observations("value_mean") > WARM_UP), value.fresh)
    climb = _climb(rows)
    climbed = climb > rows.limit("climb")
    up = rows.level("climbed", climbed, loss.fresh)
    blind = _blind(rows)
    penalty = abs(reward - rows.smooth("reward_with_kl_mean", WINDOW)) > rows.limit("penalty") * spread
    beyond = rows.limit("beyond")
    far = rows.smooth("value_mean", WINDOW) - reward
    lost = (abs(far) > beyond * rows.limit("distance") * spread) | (climb > beyond * rows.limit("climb"))
    still = rows.recent("still", away, value.fresh, width=WINDOW) > 0.5
    unpaid = ~(rows.change("reward_mean").z > rows.limit("gain"))
    fires = ((off >= rows.alarm) & still) | ((up >= rows.alarm) & climbed & unpaid) | blind
    return Judgement(
        fires=fires & ~penalty,
        holds=(still | (climb > rows.limit("back")) | blind) & ~penalty,
        critical=lost & ~penalty,
        log_evidence=off.clip(min=up).clip(min=rows.alarm),
    )


def _spread(rows: Rows, reward: FloatArray) -> FloatArray:
    """How far apart returns can lie: by the mean rewards so far, and by single samples where they are logged."""
    means = rows.highest("reward_mean") - rows.lowest("reward_mean")
    samples = rows.highest("reward_max") - rows.lowest("reward_min")
    return fmax(fmax(means, abs(reward)), samples)


def _climb(rows: Rows) -> FloatArray:
    """The critic's loss as a multiple of the smallest level that it has held."""
    level = rows.smooth("value_loss", LOSS_WINDOW)
    squared = rows.lowest("value_loss") > 0  # what has been negative is no squared error and has no floor to climb from
    full = rows.observations("value_loss") >= LOSS_WINDOW
    held = rows.carried_min("floor", where(full, level, nan))
    return where(squared & full, level / where(held > 0, held, inf), 1.0)


def _blind(rows: Rows) -> BoolArray:
    """Where a critic that has had time explains less of the returns than a constant would."""
    explained = rows.series("value_explained_variance")
    late = rows.observations("value_explained_variance") > SETTLING
    below = (explained.values < rows.limit("explained")) & late
    evidence = rows.level("blind", below, explained.fresh)
    return (evidence >= rows.alarm) & (rows.smooth("value_explained_variance", WINDOW) < rows.limit("explained"))

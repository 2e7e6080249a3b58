"""Healthy variants: tasks, algorithms and sizes that learn at different speeds, each with something that looks ill."""

from dataclasses import replace

from rlprobe.lab import rewards
from rlprobe.lab.catalog import BASE, Variant
from rlprobe.lab.losses import Coefficients
from rlprobe.lab.optimizer import linear_decay
from rlprobe.lab.policy import FloatArray
from rlprobe.lab.recipe import Seams, State
from rlprobe.lab.rewards import Part
from rlprobe.lab.tasks import Task

_CORRECT = Part(name="correct", function=rewards.correct)
_PARTIAL = Part(name="partial", function=rewards.partial)
_SPIKE = 0.45  # of the run, where one batch meets a score of another size


def _one_spike(returned: FloatArray, state: State) -> FloatArray:
    return returned * (30.0 if state.step == int(_SPIKE * state.steps) else 1.0)


def _halved(returned: FloatArray, state: State) -> FloatArray:
    """From half of the run on every reward counts half."""
    return returned if 2 * state.step <= state.steps else 0.5 * returned


def _growing_share(step: int, steps: int) -> float:
    """No hard prompts until 40 % of the run, nothing else from 70 % on."""
    return min(1.0, max(0.0, (step / steps - 0.4) / 0.3))


def _now_and_then(step: int, steps: int) -> float:
    """A few steps of hard prompts, four times in the run."""
    return float(step / steps % 0.25 > 0.23)


VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="healthy-grpo",
        description="GRPO on reversing digits: entropy falls and groups lose spread while the task is learned.",
        look_alike_of=("ENTROPY_COLLAPSE", "DEGENERATE_GROUPS", "REWARD_STD_DEATH", "REF_POLICY_DRIFT_ASYMMETRY"),
        recipe=BASE,
    ),
    Variant(
        name="healthy-mastery",
        description="An easy task is mastered: nearly every group is all right and gives no gradient.",
        look_alike_of=("ENTROPY_COLLAPSE", "DEGENERATE_GROUPS", "REWARD_STD_DEATH", "ADV_COLLAPSE", "ZERO_GRADIENT"),
        recipe=replace(BASE, task=Task(operations="=", taught="=", wrong=0.4), learning_rate=4e-3),
    ),
    Variant(
        name="healthy-slow",
        description="A small learning rate: reward rises slowly and steadily.",
        look_alike_of=("NO_LEARNING", "KL_DOMINATES"),
        recipe=replace(BASE, learning_rate=5e-4),
    ),
    Variant(
        name="healthy-late-takeoff",
        description="A weak base policy: most groups are all wrong for a long time, then the task is found.",
        look_alike_of=("NO_LEARNING", "DEGENERATE_GROUPS"),
        recipe=replace(BASE, task=Task(taught="=^", wrong=0.3), parts=(_CORRECT,), learning_rate=2e-3),
    ),
    Variant(
        name="healthy-rloo",
        description="RLOO with the KL penalty in the reward: the logged KL is a plain difference.",
        look_alike_of=("KL_BLOWUP", "DECODE_MISMATCH"),
        recipe=replace(
            BASE,
            algorithm="rloo",
            kl_in_reward=True,
            coefficients=Coefficients(kl=0.01, estimator="k1"),
            scaling="none",
        ),
    ),
    Variant(
        name="healthy-dr-grpo",
        description="Dr. GRPO: unscaled advantages shrink as the task is mastered.",
        look_alike_of=("ADV_COLLAPSE",),
        recipe=replace(BASE, algorithm="dr_grpo", scaling="none", loss_scale="constant", max_grad_norm=0.2),
    ),
    Variant(
        name="healthy-reinforce",
        description="REINFORCE with a running baseline: advantages are not centred in a group.",
        look_alike_of=("ADVANTAGE_INVALID", "GROUPING_BUG"),
        recipe=replace(BASE, algorithm="reinforce", prompts=64, group_size=1, scaling="none", learning_rate=1e-3),
    ),
    Variant(
        name="healthy-ppo",
        description="PPO with a value head: explained variance is poor at first.",
        look_alike_of=("VALUE_DIVERGENCE", "CLIP_SATURATION"),
        recipe=replace(
            BASE,
            algorithm="ppo",
            task=Task(operations="=+", taught="=+~"),
            parts=(_CORRECT,),
            kl_in_reward=True,
            passes=2,
            minibatches=2,
            learning_rate=5e-4,
            value_rate=2e-3,
        ),
    ),
    Variant(
        name="healthy-dpo",
        description="DPO at a small learning rate: the margin grows and chosen answers keep their likelihood.",
        look_alike_of=("PREFERENCE_COLLAPSE",),
        recipe=replace(BASE, algorithm="dpo", beta=0.5, learning_rate=3e-4),
    ),
    Variant(
        name="healthy-no-kl",
        description="No KL term: the policy drifts as far as the task needs.",
        look_alike_of=("KL_BLOWUP",),
        recipe=replace(BASE, coefficients=Coefficients(kl=0.0)),
    ),
    Variant(
        name="healthy-several-passes",
        description="Four passes over each rollout: ratios leave one and some gradient is clipped.",
        look_alike_of=("CLIP_SATURATION", "RATIO_NOT_ONE", "STALENESS"),
        recipe=replace(BASE, passes=4, minibatches=2, learning_rate=5e-4),
    ),
    Variant(
        name="healthy-small-groups",
        description="Two samples a prompt: noisy, and many groups without spread from the start.",
        look_alike_of=("DEGENERATE_GROUPS", "ADVANTAGE_INVALID"),
        recipe=replace(BASE, prompts=32, group_size=2, learning_rate=1e-3),
    ),
    Variant(
        name="healthy-small-batch",
        description="Two prompts a step: every curve is noisy.",
        look_alike_of=("REWARD_COLLAPSE", "NO_LEARNING", "GRAD_PATHOLOGY"),
        recipe=replace(BASE, prompts=2, learning_rate=1e-3),
    ),
    Variant(
        name="healthy-format-first",
        description="The format is learned within a few steps, correctness long after.",
        look_alike_of=("FORMAT_GAMING", "REWARD_COMPONENT_DEAD"),
        recipe=replace(
            BASE,
            task=Task(malformed=0.6, wrong=0.7),
            parts=(_CORRECT, Part(name="format", function=rewards.formatted, weight=0.5)),
            learning_rate=1e-3,
        ),
    ),
    Variant(
        name="healthy-length-growth",
        description="An answer counts only with its derivation: completions grow, and more of them are right.",
        look_alike_of=("REWARD_HACK_LENGTH", "LENGTH_EXPLOSION", "THROUGHPUT_ROT", "MEMORY_CREEP"),
        recipe=replace(
            BASE,
            parts=(Part(name="derived", function=rewards.derived),),
            sampling=replace(BASE.sampling, cap=24),
            learning_rate=1e-3,
        ),
    ),
    Variant(
        name="healthy-shortening",
        description="Rambling hurts: completions shorten because short ones are right more often.",
        look_alike_of=("LENGTH_COLLAPSE",),
        recipe=replace(
            BASE,
            task=Task(wrong=0.5, thoughts=6.0, rambling_hurts=True),
            parts=(_CORRECT,),
            sampling=replace(BASE.sampling, cap=24),
            learning_rate=1e-3,
        ),
    ),
    Variant(
        name="healthy-curriculum",
        description="Halfway the prompts become harder: reward falls and rises again.",
        look_alike_of=("REWARD_COLLAPSE", "REWARD_SCALE_SHIFT", "ENTROPY_EXPLOSION"),
        recipe=replace(
            BASE,
            task=Task(operations="=", taught="~^=", wrong=0.5),
            later_task=Task(operations="=^", taught="~^=", wrong=0.5),
        ),
    ),
    Variant(
        name="healthy-task-switch",
        description="Halfway a harder data set takes the place of the mastered one, and no event says so.",
        look_alike_of=("REWARD_COLLAPSE", "NO_LEARNING", "ENTROPY_EXPLOSION", "EVAL_GAP", "FORMAT_LOSS"),
        recipe=replace(
            BASE,
            task=Task(operations="=", taught="~^=", wrong=0.5),
            later_task=Task(operations="~^", taught="~^=", wrong=0.5),
        ),
    ),
    Variant(
        name="healthy-mixing",
        description="Harder prompts take over one by one: reward falls slowly while the policy goes on learning.",
        look_alike_of=("REWARD_COLLAPSE", "NO_LEARNING", "EVAL_GAP"),
        recipe=replace(
            BASE,
            task=Task(operations="=", taught="~^=", wrong=0.5),
            later_task=Task(operations="~^", taught="~^=", wrong=0.5),
            later_share=_growing_share,
        ),
    ),
    Variant(
        name="healthy-hard-batches",
        description="Four times a few batches of a harder data set come in between.",
        look_alike_of=("REWARD_COLLAPSE", "REWARD_SCALE_SHIFT", "RESUME_DISCONTINUITY"),
        recipe=replace(
            BASE,
            task=Task(operations="=", taught="~^=", wrong=0.5),
            later_task=Task(operations="~", taught="~^=", wrong=0.5),
            later_share=_now_and_then,
        ),
    ),
    Variant(
        name="healthy-rescaled",
        description="Halfway every reward is halved, which advantages that are scaled in groups do not notice.",
        look_alike_of=("REWARD_COLLAPSE", "REWARD_STD_DEATH", "NO_LEARNING"),
        recipe=replace(BASE, seams=Seams(returned=_halved)),
    ),
    Variant(
        name="healthy-decay",
        description="The learning rate decays to a tenth: updates shrink and curves flatten.",
        look_alike_of=("LR_ANOMALY", "ZERO_GRADIENT", "NO_WEIGHT_UPDATE"),
        recipe=replace(BASE, schedule=linear_decay),
    ),
    Variant(
        name="healthy-one-spike",
        description="One batch has a huge gradient, which clipping absorbs.",
        look_alike_of=("GRAD_PATHOLOGY", "REWARD_SCALE_SHIFT"),
        recipe=replace(BASE, algorithm="dr_grpo", scaling="none", learning_rate=1e-3, seams=Seams(returned=_one_spike)),
    ),
    Variant(
        name="healthy-negative-rewards",
        description="Every reward is negative: a penalty for each wrong digit and for a lost format.",
        look_alike_of=("REWARD_CONSTANT", "REWARD_COLLAPSE"),
        recipe=replace(
            BASE,
            parts=(
                Part(
                    name="penalty",
                    function=lambda answer, text: (
                        5.0 * rewards.partial(answer, text) + rewards.formatted(answer, text) - 6.5
                    ),
                ),
            ),
        ),
    ),
    Variant(
        name="healthy-scaled-reward",
        description="Rewards of the size of a thousand, scaled within groups.",
        look_alike_of=("GRAD_PATHOLOGY", "ADVANTAGE_INVALID"),
        recipe=replace(BASE, parts=(replace(_CORRECT, weight=1000.0), replace(_PARTIAL, weight=500.0))),
    ),
    Variant(
        name="healthy-logging-10",
        description="Only every tenth step is logged, as an average.",
        look_alike_of=("METRIC_GAP", "NO_LEARNING"),
        recipe=replace(BASE, logging_steps=10, learning_rate=1e-3),
    ),
    Variant(
        name="healthy-resume",
        description="Halfway the process is stopped and resumed with everything it had.",
        look_alike_of=("RESUME_DISCONTINUITY",),
        recipe=replace(BASE, resume=0.5, learning_rate=1e-3),
    ),
    Variant(
        name="healthy-lag",
        description="Samples are always two updates old, and the log says so.",
        look_alike_of=("STALENESS", "STALE_ROLLOUT_WEIGHTS", "TRAIN_INFER_MISMATCH"),
        recipe=replace(
            BASE, asynchronous=True, learning_rate=1e-3, seams=Seams(lag=lambda state: min(2, state.step - 1))
        ),
    ),
    Variant(
        name="healthy-tools",
        description="Useful tool calls become more frequent; a few fail.",
        look_alike_of=("TOOL_USE_COLLAPSE", "LENGTH_EXPLOSION", "REWARD_HACK_LENGTH"),
        recipe=replace(
            BASE,
            task=Task(tools=0.3),
            parts=(_CORRECT, Part(name="tool", function=lambda a, t: min(rewards.tool_use(a, t), 0.3))),
            coefficients=Coefficients(kl=0.05),
            learning_rate=1e-3,
        ),
    ),
    Variant(
        name="healthy-ranks",
        description="Four ranks of equal speed.",
        look_alike_of=("RANK_DIVERGENCE",),
        recipe=replace(BASE, ranks=4, hidden=48, learning_rate=1.5e-3),
    ),
)

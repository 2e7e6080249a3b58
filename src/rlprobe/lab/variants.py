"""Healthy variants: tasks, algorithms and sizes that learn at different speeds."""

from dataclasses import replace

from rlprobe.lab.catalog import Variant
from rlprobe.lab.recipe import Recipe
from rlprobe.lab.tasks import Task

BASE = Recipe()

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="healthy-grpo",
        description="GRPO on reversing digits, with a correctness and a format reward.",
        look_alike_of=(),
        recipe=BASE,
    ),
    Variant(
        name="healthy-mastery",
        description="An easy task is mastered: entropy falls and groups lose their spread because all are right.",
        look_alike_of=("ENTROPY_COLLAPSE", "DEGENERATE_GROUPS", "REWARD_STD_DEATH", "ADV_COLLAPSE"),
        recipe=replace(BASE, task=Task(operations="=", taught="=", wrong=0.4), learning_rate=4e-3),
    ),
    Variant(
        name="healthy-slow",
        description="A small learning rate: reward rises slowly and steadily.",
        look_alike_of=("NO_LEARNING",),
        recipe=replace(BASE, learning_rate=5e-4),
    ),
)

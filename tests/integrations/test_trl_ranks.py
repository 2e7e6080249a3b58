"""One rank's samples among those of every rank: what it says of groups that lie on two."""

import numpy as np
import pytest

pytest.importorskip("torch")

from rlprobe.integrations.trl_rollout import Rollout, Rules, Scored

pytestmark = pytest.mark.trl


def rollout_of(everyone: list[float], first: int, count: int, size: int, penalty: list[float] | None = None) -> Rollout:
    """One rank's part of a rollout: `count` samples from row `first` on."""
    rules = Rules(
        names=("f",),
        weights=np.ones(1),
        eos=frozenset((2,)),
        pad=0,
        max_tokens=9,
        normalize_each=False,
        reward_range=None,
    )
    scored = Scored(
        prompts=["p"] * count,
        completions=["c"] * count,
        token_ids=[[1, 2]] * count,
        everyone=np.array(everyone)[:, None],
        first=first,
    )
    return Rollout(
        number=4,
        step=1,
        split="train",
        size=size,
        scored=scored,
        rules=rules,
        decoded=["c"] * count,
        advantages=np.zeros(count),
        prompt_tokens=np.ones(count),
        penalty=None if penalty is None else np.array(penalty),
    )


def test_a_rank_reads_its_samples_among_every_ranks_and_groups_that_lie_on_two() -> None:
    rewards = [0.0, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.0, 1.0, 5.0]
    second = rollout_of(rewards, first=6, count=6, size=4)
    rows = second.rows()

    assert rows["sample"] == [6, 7, 8, 9, 10, 11]
    assert rows["group"] == ["4/1", "4/1", "4/2", "4/2", "4/2", "4/2"]
    assert rows["group_size"] == [4] * 6
    assert rows["reward"] == rewards[6:]
    assert second.centred().tolist() == [0, 0, -1, -1, -1, 3]
    spreads = [np.std(rewards[start : start + 4], ddof=1) for start in (0, 4, 8)]
    assert second.metrics()["reward_std_group_mean"] == pytest.approx(np.mean(spreads))


def test_a_kl_that_only_its_rank_knows_leaves_split_groups_without_a_centre() -> None:
    rewards = [0.0, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0]
    first = rollout_of(rewards, first=0, count=6, size=4, penalty=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    centred = first.centred()
    assert centred[:4].tolist() == [-2.25, -0.25, 0.75, 1.75]
    assert np.isnan(centred[4:]).all()

"""XPO and Nash-MD, which trl 1.13 and later do not have: a trainer whose step is theirs, on a real tiny model.

`python -m bench.trl.versions 1.12.0 --kinds xpo,nash_md` trains the real ones.
"""

import types
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_duels import DuelWatch
from rlprobe.integrations.trl_kinds import KINDS
from rlprobe.integrations.trl_step import StepRecord
from tests.integrations.tiny_model import questions

pytestmark = [pytest.mark.trl, pytest.mark.slow, pytest.mark.filterwarnings("default")]

PROMPTS, NEW = 3, 8


class XPOTrainer:
    """The policy against the reference, with the names and the order of calls of TRL's training_step."""

    judged = False  # by a judge, who gives no scores

    def __init__(self, home: Path) -> None:
        torch.manual_seed(0)
        self.model, self.ref_model = (AutoModelForCausalLM.from_pretrained(home) for _ in range(2))
        with torch.no_grad():
            self.model.lm_head.weight += 0.02 * torch.randn_like(self.model.lm_head.weight)
        self.processing_class = AutoTokenizer.from_pretrained(home, padding_side="left")
        self.accelerator = types.SimpleNamespace(
            process_index=0, num_processes=1, clip_grad_norm_=torch.nn.utils.clip_grad_norm_
        )

    def _generate_completions(self, prompts: dict[str, object], model: torch.nn.Module) -> tuple[torch.Tensor, ...]:
        given = {name: prompts[name] for name in ("input_ids", "attention_mask")}
        return tuple(each.generate(**given, max_new_tokens=NEW, do_sample=True) for each in (model, self.ref_model))

    def _compute_rewards(self, own: dict, others: dict, width: int) -> tuple[torch.Tensor, ...]:
        return tuple(each["attention_mask"][:, width:].sum(1).float() for each in (own, others))

    def _compute_logprobs(
        self, model: torch.nn.Module, own: dict, others: dict, width: int
    ) -> tuple[torch.Tensor, ...]:
        def scored(by: torch.nn.Module, data: dict) -> torch.Tensor:
            logits = by(data["input_ids"], attention_mask=data["attention_mask"]).logits[:, width - 1 : -1]
            found = logits.log_softmax(-1).gather(-1, data["input_ids"][:, width:, None]).squeeze(-1)
            return found.masked_fill(data["attention_mask"][:, width:] == 0, 0.0)

        return scored(model, own), scored(model, others), scored(self.ref_model, others), scored(self.ref_model, own)

    def training_step(self, texts: list[str]) -> torch.Tensor:
        self.model.train()
        tokens = self.processing_class(texts, return_tensors="pt", padding=True)
        prompts = {**tokens, "raw": texts}
        width, sides = tokens["input_ids"].shape[1], []
        for ids in self._generate_completions(prompts, self.model):
            ended = (ids[:, width:] == self.processing_class.eos_token_id).cumsum(1)
            mask = torch.cat([tokens["attention_mask"], ((ended == 0) | (ended.cumsum(1) == 1)).long()], dim=1)
            sides.append({"input_ids": ids, "attention_mask": mask, "raw": texts})
        if not self.judged:
            self._compute_rewards(*sides, width)
        self.held = sides[0], self._compute_logprobs(self.model, *sides, width)
        return -self.held[1][0].sum()


class NashMDTrainer(XPOTrainer):
    """The loss looks at the policy's own completions alone."""

    def _compute_logprobs(
        self, model: torch.nn.Module, own: dict, others: dict, width: int
    ) -> tuple[torch.Tensor, ...]:
        found = super()._compute_logprobs(model, own, own, width)
        return found[0], found[3]


@pytest.mark.parametrize("kind", [XPOTrainer, NashMDTrainer])
@pytest.mark.parametrize("judged", [False, True])
def test_a_row_is_the_policys_completion_beside_the_opponents_reward(
    sorter: Path, monkeypatch: pytest.MonkeyPatch, kind: type[XPOTrainer], judged: bool
) -> None:
    monkeypatch.setenv("RLPROBE_STRICT_HOOKS", "1")
    trainer = kind(sorter)
    trainer.judged = judged
    texts = questions(PROMPTS, 3)
    watch = DuelWatch(trainer, HookGuard(lambda *_: None), with_tokens=True)
    watch.install()
    watch.step = StepRecord(number=7, started=0.0)
    for _ in range(2):  # gradients add up over two of them
        trainer.training_step(texts)
    metrics = watch.metrics(watch.step, {})
    first, second = (dict(part) for part in watch.samples(watch.step))
    watch.wraps.undo()

    data, scored = trainer.held
    width = data["input_ids"].shape[1] - scored[0].shape[1]
    mask = data["attention_mask"][:, width:].bool().numpy()
    assert KINDS[watch.algorithm] is DuelWatch
    assert not watch.wraps.missing
    assert first["sample"] + second["sample"] == list(range(2 * PROMPTS))
    assert second["prompt"] == texts
    assert second["completion_tokens"] == mask.sum(axis=1).tolist()
    own, reference = scored[0].detach().numpy(), scored[-1].detach().numpy()
    assert second["kl"] == pytest.approx(((own - reference).sum(axis=1) / mask.sum(axis=1)).tolist(), abs=1e-6)
    np.testing.assert_allclose(second["token_logprobs"][0], own[0][mask[0]], rtol=1e-2, atol=1e-3)
    assert metrics["logprob_mean"] < 0
    assert set(watch.step.seconds) == {"generation_seconds"} | (set() if judged else {"reward_seconds"})
    if judged:
        assert "reward" not in second
        return
    assert second["reward"] == mask.sum(axis=1).tolist()
    better = [a >= b for a, b in zip(second["reward"], second["extra/opponent_reward"], strict=True)]
    assert second["preference"] == ["chosen" if flag else "rejected" for flag in better]

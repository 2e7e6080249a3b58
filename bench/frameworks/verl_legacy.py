"""verl's legacy training loop (RayPPOTrainer.fit) on a CPU, in the versions that have it: python -m ... [--fault].

The loop, its batches, rewards, advantages, metrics and Tracking are verl's; policy, sampler and validation are a table
of logits (verl_policy.py) in the place of worker groups. verl 0.6 and older score by a reward manager of verl's, later
ones take what their agent loop leaves in the batch. `bench.frameworks.verl_versions` runs it in each version.
"""

import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import ray
import torch
import verl
from omegaconf import DictConfig, OmegaConf
from verl import DataProto
from verl.trainer.ppo.ray_trainer import RayPPOTrainer
from verl.utils.tracking import ValidationGenerationsLogger

from bench.frameworks.verl_policy import END, LONGEST, PAD, Table, Tokenizer
from bench.frameworks.verl_script import SCRIPT

STEPS, PROMPTS, GROUP = 25, 4, 8


class Batches(list[dict[str, object]]):
    """A data loader as far as the loop asks."""

    sampler = None


class Workers:
    """What the loop asks of its worker groups and of its agent loop."""

    def __init__(self, score: object, *, scores_inside: bool) -> None:
        self.table, self.tokenizer = Table(), Tokenizer()
        self._score, self._inside = score, scores_inside

    def generate_sequences(self, batch: DataProto) -> DataProto:
        """Completions of the batch's prompts, with their rewards where this version's agent loop brings them."""
        lasts = [int(each) for each in batch.non_tensor_batch["last"]]
        rows = [self.table.sample(last) for last in lasts]
        responses = torch.tensor([row + [PAD] * (LONGEST - len(row)) for row in rows])
        mask = (responses != PAD).long()
        prompts = torch.tensor([[END + 1, last] for last in lasts])
        whole = torch.cat([torch.ones_like(prompts), mask], dim=1)
        tensors = {"prompts": prompts, "responses": responses, "response_mask": mask, "attention_mask": whole}
        tensors |= {"input_ids": torch.cat([prompts, responses], dim=1), "position_ids": whole.cumsum(-1) - 1}
        others = {"multi_modal_inputs": np.array([{} for _ in rows], dtype=object)}
        others["__num_turns__"] = np.full(len(rows), 2, dtype=np.int32)
        facts: dict[str, object] = {"timing": {}}
        if self._inside:
            texts = self.tokenizer.batch_decode(responses)
            said = [self._score("sums", text, str(last - 2)) for text, last in zip(texts, lasts, strict=True)]  # type: ignore[operator]  # a function
            tensors["rm_scores"] = torch.zeros(responses.shape)
            tensors["rm_scores"][range(len(rows)), mask.sum(-1) - 1] = torch.tensor([each["score"] for each in said])
            others |= {name: np.array([each[name] for each in said]) for name in said[0]}
            facts["reward_extra_keys"] = list(said[0])
        return DataProto.from_dict(tensors=tensors, non_tensors=others, meta_info=facts)

    def compute_log_prob(self, batch: DataProto) -> DataProto:
        """Log-probs and entropies of the policy."""
        logprobs, entropies = self._scored(batch, self.table.logits.detach())
        return DataProto.from_dict(tensors={"old_log_probs": logprobs, "entropys": entropies})

    def compute_ref_log_prob(self, batch: DataProto) -> DataProto:
        """Log-probs of the reference."""
        return DataProto.from_dict(tensors={"ref_log_prob": self._scored(batch, self.table.reference)[0]})

    def update_actor(self, batch: DataProto) -> DataProto:
        """One policy-gradient step."""
        logprobs, _ = self._scored(batch, self.table.logits)
        mask = batch.batch["response_mask"]
        loss = -(logprobs * batch.batch["advantages"] * mask).sum() / mask.sum()
        norm = self.table.step(loss)
        metrics = {"actor/pg_loss": [loss.item()], "actor/grad_norm": [norm], "actor/lr": [0.3]}
        return DataProto.from_dict(tensors={}, meta_info={"metrics": metrics})

    def _scored(self, batch: DataProto, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        responses = batch.batch["responses"]
        before = torch.cat([batch.batch["prompts"][:, -1:], responses[:, :-1]], dim=1)
        lines = logits.log_softmax(-1)[before]
        return lines.gather(-1, responses[..., None])[..., 0], -(lines.exp() * lines).sum(-1)


class CpuTrainer(RayPPOTrainer):
    """The legacy trainer with the workers above."""

    def __init__(self, config: DictConfig, score: object) -> None:
        inside = hasattr(RayPPOTrainer, "_compute_old_log_prob")  # verl 0.7 and later
        self.config, self.tokenizer, self.processor, self.device_name = config, Tokenizer(), None, "cpu"
        self.actor_rollout_wg = Workers(score, scores_inside=inside)
        self.async_rollout_manager = self.ref_policy_wg = self.actor_rollout_wg
        self.use_reference_policy, self.use_critic, self.use_rm = True, False, False
        self.ref_in_actor = self.async_rollout_mode = False
        self.total_training_steps, self.train_dataset = STEPS, []
        nothing = lambda *_: None  # noqa: E731
        self.checkpoint_manager = SimpleNamespace(update_weights=nothing, sleep_replicas=nothing)
        self.resource_pool_manager = SimpleNamespace(get_n_gpus=lambda: 1)
        self.validation_generations_logger = ValidationGenerationsLogger()
        self.train_dataloader = Batches(_batch() for _ in range(STEPS))
        if not inside:
            from verl.workers.reward_manager import NaiveRewardManager

            self.reward_fn = self.val_reward_fn = NaiveRewardManager(self.tokenizer, 0, compute_score=score)
        if hasattr(self, "_init_dump_executor"):
            self._init_dump_executor()

    def _compute_old_log_prob(self, batch: DataProto) -> tuple[DataProto, float]:
        return self.actor_rollout_wg.compute_log_prob(batch), 0.0

    def _compute_ref_log_prob(self, batch: DataProto) -> DataProto:
        return self.actor_rollout_wg.compute_ref_log_prob(batch)

    def _update_actor(self, batch: DataProto) -> DataProto:
        return self.actor_rollout_wg.update_actor(batch)

    def _validate(self, *_: object) -> dict[str, float]:
        texts = [self.tokenizer.decode(torch.tensor(self.actor_rollout_wg.table.sample(5))) for _ in range(3)]
        self._maybe_log_val_generations(["3"] * 3, texts, [0.1, 0.2, 0.3])
        return {"val-core/sums/reward/mean@1": 0.2}

    def _nothing(self, *_: object, **__: object) -> None: ...

    _load_checkpoint = _start_profiling = _stop_profiling = _balance_batch = _nothing


def _batch() -> dict[str, object]:
    lasts = [place + 2 for place in range(PROMPTS)]
    prompts = torch.tensor([[END + 1, last] for last in lasts])
    tensors = {"input_ids": prompts, "attention_mask": torch.ones_like(prompts), "position_ids": prompts * 0}
    if hasattr(RayPPOTrainer, "_compute_old_log_prob"):
        tensors = {"dummy_tensor": torch.zeros(PROMPTS, 1, dtype=torch.uint8)}  # as its data sets have
    others = {
        "last": lasts,
        "index": lasts,
        "data_source": ["sums"] * PROMPTS,
        "reward_model": [{"ground_truth": str(last - 2)} for last in lasts],
    }
    return tensors | {name: np.fromiter(values, dtype=object) for name, values in others.items()}


def main(*, fault: bool) -> None:
    """Train."""
    folder = Path(verl.__file__).parent / "trainer" / "config"
    config = OmegaConf.load(folder / "_generated_ppo_trainer.yaml")
    changes = ["algorithm.adv_estimator=grpo", "algorithm.use_kl_in_reward=false", f"data.train_batch_size={PROMPTS}"]
    changes += [f"actor_rollout_ref.rollout.n={GROUP}", "actor_rollout_ref.actor.use_kl_loss=true"]
    changes += ['trainer.logger=["console","rlprobe"]', "trainer.project_name=bench", "trainer.experiment_name=legacy"]
    changes += ["trainer.test_freq=5", "trainer.save_freq=-1", "trainer.log_val_generations=3"]
    changes += [f"data.max_response_length={LONGEST}", "trainer.balance_batch=false", "trainer.total_epochs=1"]
    config = OmegaConf.merge(config, OmegaConf.from_dotlist(changes))
    program = runpy.run_path(str(SCRIPT.with_suffix(".py")))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    CpuTrainer(config, program["compute_wrong_score" if fault else "compute_score"]).fit()
    ray.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RLPROBE_RUN", "runs/verl-legacy")
    main(fault="--fault" in sys.argv[1:])

"""verl's own v1 training loop on a CPU: its PPOTrainer, TransferQueue, advantages, metrics and Tracking.

What needs a GPU there is small here: the policy is a table of logits in torch in the place of the actor's workers, and
samples from itself in the place of an engine's servers. Configuration and reward are those of examples/verl_grpo.sh,
loaded by verl's own code; only sizes and places differ. python -m bench.frameworks runs it; by hand:

    PYTHONPATH=.venv/frameworks/verl RLPROBE_RUN=runs/verl python -m bench.frameworks.verl_fit [--fault]
"""

import os
import sys
import uuid
from pathlib import Path

import ray
import torch
import transfer_queue as tq
import verl
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.reward import get_custom_reward_fn
from verl.trainer.ppo.v1.trainer_base import PPOTrainer
from verl.utils.config import validate_config

from bench.frameworks.verl_policy import LONGEST, Table, Tokenizer
from bench.frameworks.verl_script import words_of

STEPS, PROMPTS, GROUP = 25, 4, 8
COLUMNS = ("prompts", "responses", "response_mask", "rm_scores", "rollout_log_probs")


class Policy(Table):
    """Logits of the next token by the last one; what the trainer asks of its worker group."""

    def compute_log_prob(self, batch: KVBatchMeta) -> KVBatchMeta:
        """Log-probs and entropies of the whole sequences, as the actor's workers leave them in the queue."""
        return _scored(batch, self.logits.detach())

    def compute_ref_log_prob(self, batch: KVBatchMeta) -> KVBatchMeta:
        """The same of the reference."""
        return _scored(batch, self.reference)

    def update_actor(self, batch: KVBatchMeta) -> TensorDict:
        """One policy-gradient step."""
        fields = ["prompts", "responses", "advantages"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        loss = torch.zeros(())
        tokens = 0
        for prompt, response, advantages in zip(*(data[name].unbind() for name in fields), strict=True):
            lasts = torch.cat([prompt[-1:], response[:-1]])
            logprobs = self.logits.log_softmax(-1)[lasts, response]
            loss = loss - (logprobs * advantages).sum()
            tokens += len(response)
        norm = self.step(loss / tokens)
        return {"metrics": {"pg_loss": [float(loss) / tokens], "grad_norm": [norm], "lr": [0.3], "mfu": [0.0]}}  # type: ignore[return-value]  # read by key


def _scored(batch: KVBatchMeta, logits: torch.Tensor) -> KVBatchMeta:
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["prompts", "responses"])
    logprobs, entropies = [], []
    for prompt, response in zip(data["prompts"].unbind(), data["responses"].unbind(), strict=True):
        sequence = torch.cat([prompt, response])
        lines = logits[sequence].log_softmax(-1)
        logprobs.append(lines[:-1].gather(-1, sequence[1:, None])[:, 0])
        logprobs[-1] = torch.cat([logprobs[-1], torch.zeros(1)])  # at each position the next token's, as verl has it
        entropies.append(-(lines.exp() * lines).sum(-1))
    fields = {"log_probs": _nested(logprobs), "entropy": _nested(entropies)}
    return tq.kv_batch_put(
        keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict(fields, batch_size=len(batch.keys))
    )


def _nested(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


class CpuTrainer(PPOTrainer):
    """The v1 trainer with the policy above; generation and balancing are all that is replaced of its steps."""

    def prepare(self) -> None:
        """What `init` sets up, without workers and servers."""
        self.tokenizer, self.actor_rollout_wg, self.ref_in_actor = Tokenizer(), Policy(), False
        self.ref_policy_wg = self.actor_rollout_wg
        self.reward_loop_manager = type("Rewards", (), {"reward_loop_worker_handles": ()})()
        self.global_steps, self.steps_per_epoch, self.total_training_steps = 0, STEPS, STEPS
        self.resource_pool_manager = type("Pools", (), {"get_n_gpus": lambda self: 1})()
        self.distillation_config = None
        self.score = get_custom_reward_fn(self.config)
        self._init_dump_executor()
        self.replay_buffer = self

    def sample(self, *, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, float]]:
        """The batch that was generated, as the replay buffer gives it."""
        return self._generated, {}

    def _add_batch_to_generate(self) -> None:
        rows = [(str(uuid.uuid4()), place + 2) for place in range(PROMPTS)]
        keys, columns = [], {name: [] for name in COLUMNS}
        uids, extra = [], []
        for uid, last in rows:
            for member in range(GROUP):
                response = self.actor_rollout_wg.sample(last)
                text = self.tokenizer.decode(torch.tensor(response), skip_special_tokens=True)
                said = self.score(data_source="sums", solution_str=text, ground_truth=str(last - 2), extra_info={})
                scores = torch.zeros(len(response))
                scores[-1] = said["score"]
                extra.append({"reward_extra_info": said})  # where verl's agent loop puts it
                keys.append(f"{uid}_{member}_0")
                uids.append(uid)
                columns["prompts"].append(torch.tensor([2, last]))
                columns["responses"].append(torch.tensor(response))
                columns["response_mask"].append(torch.ones(len(response), dtype=torch.long))
                columns["rm_scores"].append(scores)
                lasts = torch.tensor([last, *response[:-1]])
                logits = self.actor_rollout_wg.logits.detach()[lasts].log_softmax(-1)
                columns["rollout_log_probs"].append(logits[torch.arange(len(response)), torch.tensor(response)])
        fields = TensorDict({name: _nested(values) for name, values in columns.items()}, batch_size=len(keys))
        fields["uid"] = uids
        fields["num_turns"] = [2] * len(keys)
        fields["reward_model"] = [{"ground_truth": ""}] * len(keys)
        fields["extra_fields"] = extra
        tags = [{"min_global_steps": self.global_steps - 1, "max_global_steps": self.global_steps - 1} for _ in keys]
        self._generated = tq.kv_batch_put(keys=keys, partition_id="train", fields=fields, tags=tags)

    def _balance_batch(self, batch: KVBatchMeta, metrics: dict[str, float], **_: object) -> KVBatchMeta:
        return batch

    def on_step_end(self) -> None:
        """Nothing: the policy samples from itself."""

    def on_sample_end(self) -> None:
        """Nothing: there is no engine to put to sleep."""

    def _validate(self) -> dict[str, float]:
        texts = [
            ("3", self.tokenizer.decode(torch.tensor(self.actor_rollout_wg.sample(5)), skip_special_tokens=True))
        ] * 3
        self._maybe_log_val_generations([a for a, _ in texts], [b for _, b in texts], [0.1, 0.2, 0.3])
        return {"val-core/digits/reward/mean@1": 0.2}


def configuration(*, fault: bool) -> DictConfig:
    """The example's, as verl composes and checks it; smaller, and without a GPU's worth of data."""
    words = words_of("data/sums", *(["--fault"] if fault else []))
    changes = ["data.train_batch_size=4", "actor_rollout_ref.actor.ppo_mini_batch_size=4"]
    changes += [f"data.max_response_length={LONGEST}", f"actor_rollout_ref.rollout.n={GROUP}"]
    changes += ["trainer.val_before_train=true", "trainer.test_freq=5", "trainer.log_val_generations=3"]
    changes += ["trainer.save_freq=-1", "transfer_queue.backend.SimpleStorage.num_data_storage_units=1"]
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        config = compose("ppo_trainer", overrides=[*words[2:], *changes])
    validate_config(config, use_reference_policy=True, use_critic=False)
    return config


def main(*, fault: bool) -> None:
    """Train."""
    config = configuration(fault=fault)
    ray.init(num_cpus=8, include_dashboard=False, log_to_driver=False)
    tq.init(config.get("transfer_queue"))
    trainer = CpuTrainer(config)
    trainer.prepare()
    trainer.fit(agent_loop_manager=None)
    trainer.logger.finish()
    tq.close()
    ray.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RLPROBE_RUN", "runs/verl")
    main(fault="--fault" in sys.argv[1:])

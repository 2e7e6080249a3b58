"""What rlprobe looks at while a GRPO or RLOO trainer of TRL, or one that subclasses them, works.

Order of the calls in one step (trl 1.16, transformers 5.24): step begin, then for each micro-batch training_step (which
prepares inputs, and so generates and scores where a rollout is due, then computes the loss), gradient clipping,
pre-optimizer step, optimizer step, step end, log.
"""

import time
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_groups import group_samples, group_step_metrics
from rlprobe.integrations.trl_loss import Policy, entropy_coefficient, level_of, loss_inputs, loss_terms
from rlprobe.integrations.trl_rollout import Rollout, Scored, rules_of
from rlprobe.integrations.trl_step import StepRecord
from rlprobe.integrations.trl_tokens import loss_pass
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.integrations.trl_watch import Part, Watch
from rlprobe.integrations.trl_wrapping import RewardWatch, watched

INDEX = "rlprobe_index"  # an extra tensor in the trainer's batch; TRL shuffles and splits it with the rest


class Hooks(Watch):
    """Looks on at one trainer and collects the current step.

    Args:
        trainer: a GRPOTrainer or RLOOTrainer.
        guard: what every hook runs under.
        with_tokens: whether per-token arrays are kept.
    """

    complete = True

    def __init__(self, trainer: Trainer, guard: HookGuard, *, with_tokens: bool) -> None:
        super().__init__(trainer, guard, with_tokens=with_tokens)
        self.rloo = self.algorithm == "rloo"
        self.rollout: Rollout | None = None
        self.evaluations: list[Rollout] = []
        self.rollouts = 0
        self.rules = rules_of(trainer)
        self._watch = RewardWatch()
        self._phase = ""
        self._scored: Scored | None = None
        self._policy: Policy | None = None
        self._rollout_logprobs: list[tuple[bool, Tensor]] = []  # (of the reference model, (B, T)) in call order
        self._old: Tensor | None = None
        self._reference: Tensor | None = None

    def install(self) -> None:
        """Put the wrappers on the trainer instance."""
        trainer, around = self.trainer, self.wraps.around
        functions, names = getattr(trainer, "reward_funcs", []), self.rules.names
        self.wraps.replace(
            trainer,
            "reward_funcs",
            [watched(each, name, self._watch, self.guard) for each, name in zip(functions, names, strict=True)],
        )
        around(trainer, "_generate_and_score_completions", before=self.rollout_begins, after=self.rollout_ends)
        around(trainer, "_generate", before=self.clock, after=self.generated)
        if self.trainer.accelerator.num_processes > 1:  # the rest of a step waits for other processes
            around(trainer, "_generate_single_turn", before=self.clock, after=self.busy)
        around(trainer, "_calculate_rewards", before=self.rewards_begin, after=self.rewarded)
        around(trainer, "_get_per_token_logps_and_entropies", before=self.clock, after=self.scored_tokens)
        around(trainer, "_compute_loss", before=self.loss_begins, after=self.loss_computed)
        super().install()

    @property
    def whole_sequences(self) -> bool:
        """Whether one importance ratio is of a whole sequence."""
        return level_of(self.trainer) != "token"

    def metrics(self, record: StepRecord, raw: dict[str, float]) -> dict[str, float]:
        """Everything that is known of a step, what was computed from all samples over what the trainer sums up."""
        return group_step_metrics(self, record, raw)

    def samples(self, record: StepRecord) -> list[Part]:
        """The samples that the step generated, whole rollouts at once, with what its loss knows of them."""
        return group_samples(self, record)

    def evaluated(self) -> list[Part]:
        """The samples of the evaluation that is over."""
        rollouts, self.evaluations = self.evaluations, []
        return [each.rows() for each in rollouts]

    def rollout_begins(self, *_: object, **__: object) -> float:
        """A rollout begins: forget what the last one left."""
        self._phase = "rollout"
        self._scored = None
        self._rollout_logprobs = []
        return time.perf_counter()

    def generated(self, started: float, *_: object, **__: object) -> None:
        """The sampler is done."""
        self._spend("generation_seconds", started)

    def rewards_begin(self, *_: object, **__: object) -> float:
        """The reward functions are about to be called."""
        self._watch.clear()
        return time.perf_counter()

    def rewarded(
        self,
        started: float,
        result: Tensor,
        inputs: object,
        prompts: Sequence[object],
        completions: Sequence[object],
        token_ids: Sequence[Sequence[int]],
    ) -> None:
        """The reward functions answered; their arguments are this rank's samples, the result is every rank's."""
        self._spend("reward_seconds", started)
        watch = self._watch
        if self.training:
            self.step.busy += min(sum(watch.seconds.values()), time.perf_counter() - started)
        self._scored = Scored(
            prompts=list(prompts),
            completions=list(completions),
            token_ids=token_ids,
            everyone=result.detach().float().cpu().double().numpy(),
            first=self._first(len(prompts)),
            received={name: texts for name, texts in watch.received.items() if len(texts) == len(prompts)},
            missing={name: flags for name, flags in watch.missing.items() if len(flags) == len(prompts)},
            seconds=watch.seconds,
        )

    def rollout_ends(self, started: float, out: dict[str, object], *_: object, **__: object) -> None:
        """The batch is ready: give its samples an index that shuffling cannot lose, and read it."""
        self._phase = ""
        self._spend("rollout_seconds", started)
        advantages = out["advantages"]
        assert isinstance(advantages, Tensor)
        if self.training:
            out[INDEX] = torch.arange(len(advantages), device=advantages.device)
        if self._scored is None:
            return
        rollout = self._read(self._scored, out)
        self._scored = None
        if self.training:
            self.rollout = rollout
            self.step.rollouts.append(rollout)
        else:
            self.evaluations.append(rollout)

    def busy(self, started: float, *_: object, **__: object) -> None:
        """A piece of work of this process alone is done."""
        if self.training:
            self.step.busy += time.perf_counter() - started

    def scored_tokens(self, started: float, result: object, model: object, *__: object, **___: object) -> None:
        """A forward pass: of the loss (the policy now) or, while a rollout is scored, of old policy and reference."""
        self.busy(started)
        parts = result if isinstance(result, tuple) else (result, None)
        if self._phase == "loss":
            self._policy = (parts[0], parts[1], parts[2] if len(parts) > 2 else None)
        elif self._phase == "rollout" and self.rloo and self.training:
            self._rollout_logprobs.append((model is self.trainer.ref_model, parts[0].detach()))

    def loss_begins(self, *_: object, **__: object) -> tuple[float, float]:
        """The loss begins; the entropy coefficient may change while it is computed."""
        self._phase, self._policy = "loss", None
        return time.perf_counter(), entropy_coefficient(self.trainer)

    def loss_computed(
        self, begun: tuple[float, float], loss: Tensor, _: object, inputs: dict[str, Tensor], **__: object
    ) -> None:
        """The loss is there: reduce its tokens to one row a sample."""
        self._phase = ""
        started, coefficient = begun
        if not self.training:
            return
        self._spend("forward_seconds", started)
        if self._policy is None:
            return
        policy, self._policy = self._policy, None
        old, reference = self._rollout_tokens(inputs)
        found = loss_inputs(self.trainer, policy, inputs, old=old, reference=reference, index=inputs.get(INDEX))
        with torch.no_grad():
            terms, separable = loss_terms(self.trainer, found, inputs, coefficient=coefficient, auxiliary=policy[2])
            result = loss_pass(found, terms, with_tokens=self.with_tokens)
        self.step.separable &= separable
        self.step.passes.append((self.rollout if found.index is not None else None, result))

    def _read(self, scored: Scored, out: dict[str, object]) -> Rollout:
        trainer, advantages, mask = self.trainer, out["advantages"], out["prompt_mask"]
        assert isinstance(advantages, Tensor)
        assert isinstance(mask, Tensor)
        host = advantages.detach().float().cpu().double().numpy()
        evaluating = not self.training
        self.rollouts += 1
        rollout = Rollout(
            number=self.rollouts,
            step=int(trainer.state.global_step) + (not evaluating),
            split="evaluation" if evaluating else "train",
            size=int(trainer.num_generations_eval if evaluating else trainer.num_generations),
            scored=scored,
            rules=self.rules,
            decoded=self.decode(scored.token_ids),
            advantages=host if host.ndim == 1 else host.mean(axis=1),
            prompt_tokens=mask.sum(-1).cpu().double().numpy(),
        )
        if isinstance(tools := out.get("tool_mask"), Tensor):
            marks = tools.bool().cpu().tolist()
            rollout.own = [
                [one for one, model in zip(ids, line, strict=False) if model]  # the mask is as wide as the longest
                for ids, line in zip(scored.token_ids, marks, strict=True)
            ]
        self._read_logs(rollout)
        if self.rloo and not evaluating:
            self._read_rloo(rollout, out)
        later = trainer.args.steps_per_generation > trainer.args.gradient_accumulation_steps
        if later and not evaluating:
            self._read_scoring(rollout, out)
        return rollout

    def _read_scoring(self, rollout: Rollout, out: Mapping[str, object]) -> None:
        """The samples are trained on over several steps: keep what is known of them before that."""
        batch = {name: value for name, value in out.items() if isinstance(value, Tensor)}
        old, reference = self._rollout_tokens(batch)
        if old is not None:
            found = loss_inputs(self.trainer, (old, None, None), batch, old=None, reference=reference, index=None)
            with torch.no_grad():
                rollout.scoring = loss_pass(found, {}, with_tokens=self.with_tokens)

    def _read_logs(self, rollout: Rollout) -> None:
        """The trainer's own table of the rollout, whose last rows are every rank's samples in generation order."""
        logs, first = self.trainer._logs, rollout.scored.first
        here = slice(first, first + len(rollout))
        total = len(rollout) * int(self.trainer.accelerator.num_processes)
        advantages = list(logs["advantages"])[-total:]
        if len(advantages) == total:
            rollout.logged_advantages = np.array(advantages[here], dtype=np.float64)
        for name, values in logs.get("extra", {}).items():
            if len(values) >= total:
                rollout.extra[name] = list(values)[-total:][here]

    def _rollout_tokens(self, inputs: dict[str, Tensor]) -> tuple[Tensor | None, Tensor | None]:
        """(B, T) log-probs of old policy and reference: GRPO's inputs hold them, RLOO's were kept by the rollout."""
        if not self.rloo:
            return inputs.get("old_per_token_logps"), inputs.get("ref_per_token_logps")
        index = inputs.get(INDEX)
        if index is None or self._old is None:
            return None, None
        return self._old[index], None if self._reference is None else self._reference[index]

    def _read_rloo(self, rollout: Rollout, out: dict[str, object]) -> None:
        """RLOO hands the loss one old log-prob a sequence and no reference: keep the tokens of the rollout's passes."""
        calls, mask = self._rollout_logprobs, out["completion_mask"]
        assert isinstance(mask, Tensor)
        self._old = calls[0][1] if calls else None
        self._reference = calls[1][1] if len(calls) > 1 else None  # with adapters the same model, adapter off
        beta = float(self.trainer.beta)
        if beta and self._old is not None and self._reference is not None:
            kl = torch.where(mask.bool(), self._old - self._reference, 0.0).sum(-1)
            rollout.penalty = (beta * kl).float().cpu().double().numpy()

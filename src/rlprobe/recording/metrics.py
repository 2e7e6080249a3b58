"""The canonical metric registry: one table from which the docs, the key maps and the signatures take their words.

A metric that ends in "/" in `pattern` is a family: `reward_component_mean/format` is the member `format` of the
family `reward_component_mean`. Foreign keys never appear here; importers and integrations translate them.
"""

from dataclasses import dataclass
from typing import Literal

Unit = Literal[
    "reward",
    "fraction",
    "nats/token",
    "nats/sequence",
    "ratio",
    "tokens",
    "count",
    "seconds",
    "bytes",
    "tokens/second",
    "steps",
    "norm",
    "dimensionless",
    "score",
]
Aggregation = Literal["mean", "min", "max", "std", "sum", "last", "mode", "cumulative"]
Stage = Literal["reward", "advantages", "policy", "optimization", "generation", "infrastructure", "configuration"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One canonical metric.

    Attributes:
        name: canonical name; a family when it ends in "/".
        stage: the pipeline stage whose health it shows.
        unit: what its numbers are in.
        low, high: the closed range that its meaning allows; None is unbounded.
        aggregation: how one row sums up its samples, tokens or updates.
        estimator: the estimator its definition fixes ("" when the source decides; then the Run's metadata says which).
        meaning: one sentence.
        source: where the definition comes from ("" for plain bookkeeping).
    """

    name: str
    stage: Stage
    unit: Unit
    low: float | None
    high: float | None
    aggregation: Aggregation
    meaning: str
    estimator: str = ""
    source: str = ""

    @property
    def family(self) -> bool:
        """Whether members are named `family/member`."""
        return self.name.endswith("/")


_KL = "Schulman 2020, Approximating KL divergence"
_GRPO = "Shao et al. 2024, DeepSeekMath (GRPO)"
_PPO = "Schulman et al. 2017, Proximal policy optimization"
_DPO = "Rafailov et al. 2023, Direct preference optimization"
_M = Metric

# One row a line, so that the table reads as one.
# fmt: off
METRICS: tuple[Metric, ...] = (
    # reward
    _M("reward_mean", "reward", "reward", None, None, "mean", "Mean total reward of the step's samples, before any KL penalty."),
    _M("reward_std_batch", "reward", "reward", 0, None, "std", "Standard deviation of the total reward over the whole batch."),
    _M("reward_std_group_mean", "reward", "reward", 0, None, "mean", "Mean over groups of the standard deviation within the group.", source=_GRPO),
    _M("reward_min", "reward", "reward", None, None, "min", "Smallest total reward of the step."),
    _M("reward_max", "reward", "reward", None, None, "max", "Largest total reward of the step."),
    _M("reward_with_kl_mean", "reward", "reward", None, None, "mean", "Mean reward after the KL penalty was subtracted."),
    _M("reward_nonfinite_count", "reward", "count", 0, None, "sum", "Samples whose total reward is NaN or infinite."),
    _M("reward_missing_count", "reward", "count", 0, None, "sum", "Samples for which every reward function returned nothing."),
    _M("reward_component_mean/", "reward", "reward", None, None, "mean", "Mean of one reward function over the step's samples."),
    _M("reward_component_std/", "reward", "reward", 0, None, "std", "Standard deviation of one reward function over the step's samples."),
    _M("true_reward_mean", "reward", "reward", None, None, "mean", "Mean of the true score that the optimised reward stands for, where both are logged.", source="Gao et al. 2022, Scaling laws for reward model overoptimization"),
    _M("accuracy_fraction", "reward", "fraction", 0, 1, "mean", "Fraction of training samples judged right."),
    _M("format_fraction", "reward", "fraction", 0, 1, "mean", "Fraction of training samples with the wanted format."),
    _M("evaluation_score/", "reward", "score", None, None, "mean", "Held-out score on one evaluation set, logged on its own rows or beside training."),
    _M("length_reward_correlation", "reward", "dimensionless", -1, 1, "mean", "Mean over groups of the rank correlation between completion length and reward.", estimator="Spearman, within groups"),
    _M("reward_text_mismatch_fraction", "reward", "fraction", 0, 1, "mean", "Fraction of samples whose reward function received another text than the decoded completion."),
    _M("judge_errors_count", "reward", "count", 0, None, "sum", "Reward computations that failed and were replaced by a default."),
    # advantages
    _M("advantage_mean", "advantages", "dimensionless", None, None, "mean", "Mean advantage as used by the loss."),
    _M("advantage_std", "advantages", "dimensionless", 0, None, "std", "Standard deviation of the advantage as used by the loss."),
    _M("advantage_min", "advantages", "dimensionless", None, None, "min", "Smallest advantage as used by the loss."),
    _M("advantage_max", "advantages", "dimensionless", None, None, "max", "Largest advantage as used by the loss."),
    _M("advantage_abs_mean", "advantages", "dimensionless", 0, None, "mean", "Mean absolute advantage as used by the loss."),
    _M("advantage_reward_disagreement_fraction", "advantages", "fraction", 0, 1, "mean", "Fraction of samples whose advantage has the opposite sign of reward minus group mean."),
    _M("zero_variance_group_fraction", "advantages", "fraction", 0, 1, "mean", "Fraction of groups in which every sample has the same reward.", source="Yu et al. 2025, DAPO"),
    _M("all_right_group_fraction", "advantages", "fraction", 0, 1, "mean", "Fraction of groups in which every sample has the highest reward."),
    _M("all_wrong_group_fraction", "advantages", "fraction", 0, 1, "mean", "Fraction of groups in which every sample has the lowest reward."),
    _M("mixed_prompt_group_fraction", "advantages", "fraction", 0, 1, "mean", "Fraction of groups that hold more than one prompt."),
    _M("group_size_mean", "advantages", "count", 1, None, "mean", "Samples a group."),
    _M("group_size_min", "advantages", "count", 1, None, "min", "Samples of the smallest group."),
    _M("return_mean", "advantages", "reward", None, None, "mean", "Mean return (target of the value head)."),
    _M("return_min", "advantages", "reward", None, None, "min", "Smallest return."),
    _M("return_max", "advantages", "reward", None, None, "max", "Largest return."),
    _M("positive_advantage_token_fraction", "advantages", "fraction", 0, 1, "mean", "Fraction of completion tokens whose advantage is positive."),
    # policy
    _M("entropy_mean", "policy", "nats/token", 0, None, "mean", "Mean token entropy of the policy at the sampling temperature."),
    _M("kl_mean", "policy", "nats/token", None, None, "mean", "KL divergence between policy and reference; the estimator is in the metadata.", source=_KL),
    _M("kl_max", "policy", "nats/token", None, None, "max", "Largest per-token KL contribution between policy and reference.", source=_KL),
    _M("kl_old_mean", "policy", "nats/token", None, None, "mean", "Divergence between the policy and the policy at scoring time.", source=_KL),
    _M("kl_coefficient", "policy", "dimensionless", 0, None, "last", "Coefficient beta of the KL term."),
    _M("kl_position_fraction/", "policy", "fraction", 0, 1, "mean", "Fraction of the KL found in one bucket of relative token positions (0 to 3), divided by its fraction of tokens in the metadata."),
    _M("kl_position_token_fraction/", "policy", "fraction", 0, 1, "mean", "Fraction of the tokens that lie in one bucket of relative token positions (0 to 3)."),
    _M("clip_fraction", "policy", "fraction", 0, 1, "mean", "Fraction of tokens (or sequences) whose gradient the clip removes.", source=_PPO),
    _M("clip_fraction_low", "policy", "fraction", 0, 1, "mean", "Fraction clipped at the lower bound.", source="Yu et al. 2025, DAPO"),
    _M("clip_fraction_high", "policy", "fraction", 0, 1, "mean", "Fraction clipped at the upper bound.", source="Yu et al. 2025, DAPO"),
    _M("ratio_mean", "policy", "ratio", 0, None, "mean", "Mean importance ratio of policy and old policy.", source=_PPO),
    _M("ratio_max", "policy", "ratio", 0, None, "max", "Largest importance ratio of policy and old policy.", source=_PPO),
    _M("ratio_min", "policy", "ratio", 0, None, "min", "Smallest importance ratio of policy and old policy.", source=_PPO),
    _M("ratio_first_pass_deviation", "policy", "ratio", 0, None, "max", "Largest |ratio - 1| on the first on-policy pass over a rollout.", source="Huang et al. 2024, The N implementation details of RLHF with PPO"),
    _M("logprob_mean", "policy", "nats/token", None, 0, "mean", "Mean log-prob of the sampled tokens under the policy."),
    _M("logprob_positive_mean", "policy", "nats/token", None, 0, "mean", "Mean log-prob over samples with a positive advantage.", source="Deng et al. 2025, lazy likelihood displacement (arXiv 2512.04220)"),
    _M("logprob_negative_mean", "policy", "nats/token", None, 0, "mean", "Mean log-prob over samples with a negative advantage."),
    _M("sampler_logprob_difference_mean", "policy", "nats/token", 0, None, "mean", "Mean absolute difference between the sampler's and the trainer's log-prob of the same token."),
    _M("sampler_logprob_difference_max", "policy", "nats/token", 0, None, "max", "Largest absolute difference between the sampler's and the trainer's log-prob of the same token."),
    _M("sampler_probability_difference_mean", "policy", "fraction", 0, 1, "mean", "Mean absolute difference between the sampler's and the trainer's probability of the same token."),
    _M("sampler_probability_difference_max", "policy", "fraction", 0, 1, "max", "Largest absolute difference between the sampler's and the trainer's probability of the same token."),
    _M("sampler_probability_correlation", "policy", "dimensionless", -1, 1, "mean", "Pearson correlation of the sampler's and the trainer's token probabilities."),
    _M("sampler_kl_mean", "policy", "nats/token", None, None, "mean", "KL divergence between sampler and trainer policy; the estimator is in the metadata.", source=_KL),
    _M("sampler_ratio_mean", "policy", "ratio", 0, None, "mean", "Mean importance ratio of trainer policy and sampler."),
    _M("sampler_ratio_max", "policy", "ratio", 0, None, "max", "Largest importance ratio of trainer policy and sampler."),
    _M("sampler_ratio_min", "policy", "ratio", 0, None, "min", "Smallest importance ratio of trainer policy and sampler."),
    _M("effective_sample_fraction", "policy", "fraction", 0, 1, "mean", "Effective sample size of the importance weights as a fraction of the samples."),
    _M("reference_drift", "policy", "ratio", 0, None, "last", "Relative change of the reference's weights since the start of training."),
    _M("chosen_logprob_mean", "policy", "nats/sequence", None, 0, "mean", "Mean log-prob of the chosen answers.", source=_DPO),
    _M("rejected_logprob_mean", "policy", "nats/sequence", None, 0, "mean", "Mean log-prob of the rejected answers.", source=_DPO),
    _M("chosen_reward_mean", "policy", "reward", None, None, "mean", "Mean implicit reward of the chosen answers.", source=_DPO),
    _M("rejected_reward_mean", "policy", "reward", None, None, "mean", "Mean implicit reward of the rejected answers.", source=_DPO),
    _M("preference_margin_mean", "policy", "reward", None, None, "mean", "Mean implicit reward margin between chosen and rejected answers.", source=_DPO),
    _M("preference_accuracy_fraction", "policy", "fraction", 0, 1, "mean", "Fraction of pairs in which the chosen answer has the larger implicit reward.", source=_DPO),
    # optimization
    _M("loss", "optimization", "dimensionless", None, None, "mean", "The loss that was minimised."),
    _M("policy_loss", "optimization", "dimensionless", None, None, "mean", "The policy term of the loss alone."),
    _M("kl_loss", "optimization", "dimensionless", None, None, "mean", "The KL term of the loss, coefficient included."),
    _M("entropy_loss", "optimization", "dimensionless", None, None, "mean", "The entropy term of the loss, coefficient included."),
    _M("grad_norm", "optimization", "norm", 0, None, "mean", "Global gradient norm before clipping."),
    _M("grad_nonfinite_count", "optimization", "count", 0, None, "sum", "Gradient tensors that hold NaN or infinity."),
    _M("logprob_nonfinite_count", "optimization", "count", 0, None, "sum", "Token log-probs that are NaN or infinite."),
    _M("learning_rate", "optimization", "dimensionless", 0, None, "last", "Learning rate of the policy."),
    _M("value_learning_rate", "optimization", "dimensionless", 0, None, "last", "Learning rate of the value head."),
    _M("weight_update_ratio", "optimization", "ratio", 0, None, "mean", "Norm of the weight change divided by the norm of the weights, one update."),
    _M("weight_changed_fraction", "optimization", "fraction", 0, 1, "mean", "Fraction of the sampled weights whose value changed in the update."),
    _M("skipped_update_fraction", "optimization", "fraction", 0, 1, "mean", "Fraction of the step's updates that the trainer skipped."),
    _M("value_mean", "optimization", "reward", None, None, "mean", "Mean prediction of the value head."),
    _M("value_loss", "optimization", "dimensionless", 0, None, "mean", "Loss of the value head."),
    _M("value_explained_variance", "optimization", "dimensionless", None, 1, "mean", "Fraction of the variance of the returns that the value head explains."),
    _M("value_clip_fraction", "optimization", "fraction", 0, 1, "mean", "Fraction of value predictions that were clipped.", source=_PPO),
    _M("value_grad_norm", "optimization", "norm", 0, None, "mean", "Gradient norm of the value head before clipping."),
    # generation
    _M("completion_tokens_mean", "generation", "tokens", 0, None, "mean", "Mean generated tokens a sample."),
    _M("completion_tokens_min", "generation", "tokens", 0, None, "min", "Shortest completion of the step."),
    _M("completion_tokens_max", "generation", "tokens", 0, None, "max", "Longest completion of the step."),
    _M("completion_tokens_std", "generation", "tokens", 0, None, "std", "Standard deviation of the completion length over the step's samples."),
    _M("terminated_tokens_mean", "generation", "tokens", 0, None, "mean", "Mean length of the completions that ended by themselves (0 when none did)."),
    _M("completion_tokens_right_mean", "generation", "tokens", 0, None, "mean", "Mean length of the completions with a positive advantage."),
    _M("completion_tokens_wrong_mean", "generation", "tokens", 0, None, "mean", "Mean length of the completions with a negative advantage."),
    _M("prompt_tokens_mean", "generation", "tokens", 0, None, "mean", "Mean prompt length."),
    _M("truncated_fraction", "generation", "fraction", 0, 1, "mean", "Fraction of completions cut at the length cap."),
    _M("aborted_fraction", "generation", "fraction", 0, 1, "mean", "Fraction of samples that the sampler aborted or that failed."),
    _M("repetition_fraction", "generation", "fraction", 0, 1, "mean", "Fraction of 4-grams in a completion that occurred in it before."),
    _M("empty_fraction", "generation", "fraction", 0, 1, "mean", "Fraction of completions whose text is empty or blank."),
    _M("duplicate_fraction", "generation", "fraction", 0, 1, "mean", "Mean over groups of the fraction of samples that repeat another completion of the group."),
    _M("foreign_script_fraction", "generation", "fraction", 0, 1, "mean", "Fraction of letters in scripts that the prompts do not use."),
    _M("turns_mean", "generation", "count", 0, None, "mean", "Mean turns of a multi-turn sample."),
    _M("tool_calls_mean", "generation", "count", 0, None, "mean", "Mean tool calls a sample."),
    _M("tool_failure_fraction", "generation", "fraction", 0, 1, "mean", "Fraction of tool calls that failed."),
    # infrastructure
    _M("step_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time of the step."),
    _M("generation_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time spent generating."),
    _M("reward_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time spent in reward functions."),
    _M("rollout_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time of the rollout, scoring included."),
    _M("forward_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time of the loss's forward passes."),
    _M("optimizer_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time of the optimizer."),
    _M("tokens_per_second", "infrastructure", "tokens/second", 0, None, "mean", "Tokens processed a second (metadata says by whom)."),
    _M("tokens_total", "infrastructure", "tokens", 0, None, "cumulative", "Tokens processed since the start."),
    _M("samples_count", "infrastructure", "count", 0, None, "sum", "Samples of the step."),
    _M("memory_bytes", "infrastructure", "bytes", 0, None, "max", "Peak accelerator memory in use."),
    _M("host_memory_bytes", "infrastructure", "bytes", 0, None, "max", "Host memory in use."),
    _M("staleness_mean", "infrastructure", "steps", 0, None, "mean", "Mean number of updates between the policy that generated a sample and the one that trains on it."),
    _M("staleness_max", "infrastructure", "steps", 0, None, "max", "Largest number of updates between the policy that generated a sample and the one that trains on it."),
    _M("busy_seconds", "infrastructure", "seconds", 0, None, "sum", "Wall time that this process spent on its own work in the step, without waits for others."),
    _M("rank_step_seconds_max", "infrastructure", "seconds", 0, None, "max", "Step time of the slowest rank."),
    _M("rank_slowest", "infrastructure", "dimensionless", 0, None, "mode", "Number of the rank whose step took longest."),
    _M("rank_step_seconds_median", "infrastructure", "seconds", 0, None, "mean", "Step time of the median rank."),
    _M("epoch", "infrastructure", "dimensionless", 0, None, "last", "Passes over the training prompts."),
    _M("wall_time", "infrastructure", "seconds", None, None, "last", "Seconds since 1970 when the row was logged."),
)
# fmt: on

_BY_NAME = {metric.name: metric for metric in METRICS}


def find(name: str) -> Metric | None:
    """The registry's entry of a canonical metric or of a family member; None for a foreign key."""
    metric = _BY_NAME.get(name)
    if metric is None and "/" in name:
        metric = _BY_NAME.get(name.split("/", 1)[0] + "/")
    return metric


def member(name: str) -> str | None:
    """The member part of a family name ("format" of "reward_component_mean/format"); None for a plain metric."""
    metric = find(name)
    return name.split("/", 1)[1] if metric is not None and metric.family else None

"""The roles that parameters of the user's functions play, the names by which they are recognised, their axes."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """One argument of a slot.

    Attributes:
        name: canonical name.
        axes: letters of its axes (B rows, T tokens, V vocabulary, N samples, "" a scalar); what shrinking may cut.
        kind: "float", "int", "mask", "scalar" or "object".
        aliases: other parameter names, lower case without underscores at the ends.
    """

    name: str
    axes: str
    kind: str
    aliases: tuple[str, ...] = ()


_IDS = (
    "input_ids",
    "token_ids",
    "labels",
    "tokens",
    "targets",
    "target_ids",
    "index",
    "completion_ids",
    "response_ids",
    "sequences",
    "y",
    "actions",
)
_MASK = (
    "completion_mask",
    "response_mask",
    "loss_mask",
    "attention_mask",
    "action_mask",
    "token_mask",
    "masks",
    "valid",
    "valid_mask",
    "eos_mask",
    "loss_masks",
    "m",
)
_REF = (
    "ref_per_token_logps",
    "ref_log_prob",
    "ref_log_probs",
    "ref_logps",
    "reference_logprobs",
    "reference_logps",
    "ref_log_p",
    "ref_lp",
    "ref",
    "base_logprobs",
    "base_action_log_probs",
    "logp_ref",
    "reference_log_probs",
    "ref_logp",
)
_LOGPROBS = (
    "per_token_logps",
    "log_probs",
    "log_prob",
    "logps",
    "logp",
    "new_logprobs",
    "new_log_probs",
    "new_logps",
    "policy_logprobs",
    "policy_logps",
    "lp",
    "action_log_probs",
    "current_logprobs",
    "curr_logprobs",
    "logp_new",
    "new_logp",
    "policy_log_probs",
    "cur_logprobs",
    "new",
    "logprob",
)
_OLD = (
    "old_per_token_logps",
    "old_log_probs",
    "old_log_prob",
    "old_logps",
    "old_logp",
    "behaviour_logprobs",
    "behavior_logprobs",
    "rollout_logprobs",
    "old_action_log_probs",
    "old_lp",
    "logp_old",
    "sampling_logprobs",
    "sampling_logps",
    "old",
    "prev_logprobs",
    "old_logprob",
)
_ADVANTAGES = ("adv", "advs", "advantage", "a")
_EPS = (
    "eps",
    "epsilon",
    "clip",
    "clip_eps",
    "clip_range",
    "cliprange",
    "clip_ratio",
    "eps_clip",
    "clip_epsilon",
    "clip_param",
)
_LOW = ("epsilon_low", "eps_low", "clip_ratio_low", "cliprange_low", "clip_eps_low", "eps_clip_low", "clip_low_ratio")
_HIGH = (
    "epsilon_high",
    "eps_high",
    "clip_ratio_high",
    "cliprange_high",
    "clip_eps_high",
    "eps_clip_high",
    "clip_high_ratio",
)
_BETA = ("beta", "kl_coef", "kl_coeff", "kl_beta", "init_kl_coef", "kl_loss_coef", "kl_weight", "kl_penalty_coef")
_VALUES = ("value", "v", "vpreds", "vpred", "value_preds", "new_values", "state_values", "values_pred")

_OLD_VALUES = ("old_value", "values_old", "old_vpreds", "cliprange_values", "rollout_values", "v_old", "old_v")

_GROUP_SIZE = Role(
    "group_size",
    "",
    "scalar",
    (
        "num_generations",
        "n",
        "g",
        "k",
        "rloo_k",
        "n_samples_per_prompt",
        "n_samples",
        "num_samples",
        "generations",
        "samples_per_prompt",
        "rollout_n",
        "group",
        "gsize",
        "num_return_sequences",
    ),
)
_GROUP_IDS = Role(
    "group_ids",
    "N",
    "int",
    (
        "groups",
        "group_id",
        "prompt_ids",
        "prompt_id",
        "index",
        "uid",
        "uids",
        "group_index",
        "group_idx",
        "gids",
        "indices",
        "group_indices",
        "prompt_index",
    ),
)
_T_MASK = Role("mask", "BT", "mask", _MASK)
_TEMPERATURE = Role("temperature", "", "scalar", ("temp", "t", "tau", "sampling_temperature"))
_CLIP_LOW = Role("clip_low", "", "scalar", _LOW)
_CLIP_HIGH = Role("clip_high", "", "scalar", _HIGH)
_CLIP = Role("clip", "", "scalar", _EPS)
_KL_COEFFICIENT = Role("kl_coefficient", "", "scalar", _BETA)
_GAMMA = Role("gamma", "", "scalar", ("discount", "discount_factor"))
_LAM = Role("lam", "", "scalar", ("lambd", "lambda", "lmbda", "gae_lambda", "lam_", "gae_lam"))
_KEEP = Role(
    "completion_tokens",
    "",
    "scalar",
    ("logits_to_keep", "num_logits_to_keep", "completion_length", "completion_len", "response_length", "keep"),
)
_EPSILON = Role("advantage_epsilon", "", "scalar", ("eps", "epsilon", "std_eps", "adv_eps"))

# Of a loss that does more than one thing: the critic's part, masks of tools, a sampler beside the old policy.
_BESIDE = (
    Role("tool_mask", "BT", "mask", ("env_mask", "observation_mask", "obs_mask", "assistant_mask", "assistant_masks")),
    Role("sampler_logprobs", "BT", "float"),
    Role("values", "BT", "float", _VALUES),
    Role("old_values", "BT", "float", _OLD_VALUES),
    Role("returns", "BT", "float", ("ret", "return_", "value_targets")),
    Role("value_clip", "", "scalar", ("cliprange_value", "value_clip_range", "clip_range_vf", "clip_value", "vf_clip")),
    Role("value_coefficient", "", "scalar", ("vf_coef", "value_coef", "value_loss_coef", "critic_coef", "vf_coeff")),
    Role("completion_ids", "BT", "int", ("response_ids", "responses", "labels", "action_ids", "output_ids")),
)
# Of a loss that calls a model itself: whole rows, prompt and completion.
SEQUENCE = (
    Role(
        "sequence_ids",
        "",
        "int",
        ("input_ids", "sequences", "tokens", "token_ids", "ids", "query_responses", "input", "x"),
    ),
    Role("sequence_mask", "", "mask", ("attention_mask", "attn_mask", "attention_masks")),
    Role("prompt_ids", "", "int", ("prompts", "queries", "query_ids")),
    Role("prompt_mask", "", "mask", ("prompt_masks", "query_mask")),
    Role(
        "completion_tokens",
        "",
        "scalar",
        ("logits_to_keep", "num_actions", "response_length", "completion_length", "gen_len"),
    ),
)

# The order of a slot's roles is the order in which unnamed parameters are taken.
# fmt: off
ROLES: Mapping[str, tuple[Role, ...]] = {
    "logprobs": (Role("logits", "BTV", "float", ("logit", "scores", "lm_logits", "x")), Role("ids", "BT", "int", _IDS), _TEMPERATURE, _T_MASK, _KEEP),
    "completion_mask": (Role("completion_ids", "BT", "int", ("ids", *_IDS)), Role("eos_id", "", "scalar", ("eos_token_id", "eos", "eos_token", "eos_ids", "stop_id")), Role("pad_id", "", "scalar", ("pad_token_id", "pad", "pad_token"))),
    "advantages": (Role("rewards", "N", "float", ("reward", "scores", "r", "returns", "total_rewards", "token_level_rewards", "rews", "outcome_rewards")), _GROUP_SIZE, _GROUP_IDS, Role("mask", "N", "mask", _MASK), _EPSILON),
    "gae": (Role("rewards", "BT", "float", ("reward", "r", "token_level_rewards", "rews")), Role("values", "BT", "float", _VALUES), _T_MASK, _GAMMA, _LAM, Role("truncated", "B", "mask", ("truncations", "is_truncated", "truncation")), Role("last_values", "B", "float", ("bootstrap", "bootstrap_value", "last_value", "next_value", "next_values", "final_values")), Role("dones", "BT", "mask", ("done", "terminated", "terminations", "terminals")), Role("width", "", "scalar", ("response_length", "seq_len", "gen_len", "length", "response_len"))),
    "whiten": (Role("values", "BT", "float", ("x", "advantages", "adv", "xs", "tensor", "rewards", *_VALUES)), _T_MASK, Role("shift_mean", "", "scalar", ("keep_mean",))),
    "kl": (Role("logprobs", "BT", "float", _LOGPROBS), Role("ref_logprobs", "BT", "float", _REF), _T_MASK),
    "loss": (Role("logprobs", "BT", "float", _LOGPROBS), Role("old_logprobs", "BT", "float", _OLD), Role("advantages", "B", "float", _ADVANTAGES), _T_MASK, Role("ref_logprobs", "BT", "float", _REF), _CLIP_LOW, _CLIP_HIGH, _CLIP, _KL_COEFFICIENT, Role("entropy", "BT", "float", ("entropies", "token_entropy", "ent")), Role("entropy_coefficient", "", "scalar", ("entropy_coef", "entropy_coeff", "ent_coef", "entropy_weight")), Role("importance_ratio", "BT", "float", ("is_ratio", "importance_sampling_ratio", "rollout_is_weights", "tis_weights", "is_weights", "importance_weights")), Role("max_completion_tokens", "", "scalar", ("max_completion_length", "max_length", "max_len", "max_tokens", "constant", "norm_length", "divisor", "horizon")), Role("normalizer", "", "scalar", ("num_items_in_batch", "num_items", "total_tokens", "global_tokens", "loss_normalizer", "num_tokens")), *_BESIDE),
    "dpo_loss": (Role("chosen_logprobs", "B", "float", ("policy_chosen_logps", "policy_chosen_logprobs", "chosen_logps", "pi_chosen", "chosen", "policy_chosen", "logp_chosen", "chosen_logp", "policy_chosen_log_probs", "pc", "pi_c", "pi_w", "chosen_log_probs")), Role("rejected_logprobs", "B", "float", ("policy_rejected_logps", "policy_rejected_logprobs", "rejected_logps", "pi_rejected", "rejected", "policy_rejected", "logp_rejected", "rejected_logp", "policy_rejected_log_probs", "pr", "pi_r", "pi_l", "rejected_log_probs")), Role("ref_chosen_logprobs", "B", "float", ("reference_chosen_logps", "ref_chosen_logps", "ref_chosen", "reference_chosen_logprobs", "reference_chosen", "ref_chosen_logp", "rc", "ref_c", "ref_w", "reference_chosen_log_probs", "ref_chosen_log_probs")), Role("ref_rejected_logprobs", "B", "float", ("reference_rejected_logps", "ref_rejected_logps", "ref_rejected", "reference_rejected_logprobs", "reference_rejected", "ref_rejected_logp", "rr", "ref_r", "ref_l", "reference_rejected_log_probs", "ref_rejected_log_probs")), Role("dpo_beta", "", "scalar", ("beta", "b")), Role("label_smoothing", "", "scalar", ("smoothing", "eps", "epsilon"))),
    "value_loss": (Role("values", "BT", "float", _VALUES), Role("old_values", "BT", "float", _OLD_VALUES), Role("returns", "BT", "float", ("ret", "return_", "targets", "target", "value_targets", "r")), _T_MASK, Role("clip", "", "scalar", ("cliprange_value", "value_clip", "clip_range", "clip_eps", "eps", "epsilon", "value_clip_range", "cliprange", "clip_value", "eps_clip"))),
    "entropy": (Role("logits", "BTV", "float", ("logit", "x", "scores", "lm_logits")), _T_MASK, _TEMPERATURE),
    "reward": (Role("completions", "", "object", ("completion", "responses", "response", "texts", "text", "outputs", "output", "solution_str", "answers_text", "generations", "generation", "pred", "preds", "prediction", "predictions")), Role("prompts", "", "object", ("prompt", "question", "questions", "queries", "query")), Role("completion_ids", "", "object", ("completions_ids",))),
    "decode": (Role("ids", "", "object", ("token_ids", "completion_ids", "tokens", "sequences", "output_ids", "response_ids", "batch", "completions", "text", "texts", "completion", "response", "output", "outputs", "generated", "generated_ids", "input_ids", "sequence", "raw")), Role("tokenizer", "", "object", ("tok", "processing_class", "processor")), Role("mask", "", "mask", _MASK)),
    "score": (Role("model", "", "object", ("policy", "net", "actor")), Role("ids", "BT", "int", _IDS), Role("mask", "BT", "mask", _MASK), _TEMPERATURE, _KEEP, Role("positions", "BT", "int", ("position_ids", "pos", "position")), Role("segments", "BT", "int", ("segment_ids", "sequence_ids", "seq_ids", "document_ids", "doc_ids", "row_ids"))),
    "engine_logprobs": (Role("ids", "BT", "int", _IDS), Role("mask", "BT", "mask", _MASK)),
    "train_step": (Role("model", "", "object", ("policy", "net", "actor")), Role("optimizer", "", "object", ("opt", "optim")), Role("ids", "BT", "int", ("batch", *_IDS)), Role("mask", "BT", "mask", _MASK), Role("advantages", "B", "float", _ADVANTAGES), Role("ref_model", "", "object", ("reference", "ref", "reference_model")), _KEEP, Role("old_logprobs", "BT", "float", _OLD), Role("ref_logprobs", "BT", "float", _REF)),
}
# fmt: on


def roles(slot: str) -> tuple[Role, ...]:
    """Every role of a slot, the required ones first."""
    return ROLES.get(slot, ())


def role(slot: str, name: str) -> Role:
    """One role of a slot.

    Raises:
        KeyError: the slot has no such role.
    """
    for candidate in ROLES[slot]:
        if candidate.name == name:
            return candidate
    raise KeyError(f"{slot}.{name}")

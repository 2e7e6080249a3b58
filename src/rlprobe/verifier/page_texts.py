"""What the pages of several checks share: the mechanics of a pitfall, what is right although it looks wrong, sources."""

from collections.abc import Mapping

from rlprobe.verifier.outcome import Category, Stage

MECHANICS: Mapping[Category, str] = {
    "log-space signs": "A log-prob is at most 0, grows towards 0 as a token gets likelier, and enters ratios and KL as a "
    "difference. One sign, one argument in the other order, or one `exp` too few or too many leaves a number of ordinary "
    "size. The loss goes down and the policy goes the wrong way.",
    "constants": "A guard that is larger than what it guards rules the result: an epsilon of 1 beside a deviation of 0.5 "
    "divides by three. A wrong constant is no error anywhere; it scales the gradient, freezes it or lets it through unclipped.",
    "string processing": "Between the model's tokens and the score lies text, and a pattern that misses one shape of it "
    "(a line break, a blank, a tag that was never closed) turns a right answer into a wrong one. Every sample of that shape "
    "gets the lowest score, and the policy learns to avoid the shape, not the mistake.",
    "reward and decoding mismatch": "What is scored is another text than what was generated: special tokens cut or left in, "
    "the prompt scored along, an empty text that everything contains. The reward is then a constant, or it can be had "
    "without an answer, and training finds that out first.",
    "reference drift": "The KL term is a leash only while its other end stands still, and the importance ratio means "
    "something only while old log-probs are old. Where reference, old policy and policy share tensors or are scored in "
    "different ways, the distance is 0 for ever or was never 0.",
    "gradient breakage": "Between the loss and the weights lies a graph, and one `detach`, `no_grad`, `item` or forgotten "
    "`zero_grad` cuts it or adds to it. The loss is still printed, rewards still vary, and the weights stand still or run.",
    "configuration": "The code is right and told to do something else: a switch that is never read, a name that is spelt "
    "otherwise, two settings that exclude each other. No metric says so, since everything works as written.",
    "grouping and order": "Samples of one prompt share a baseline, and scores, texts, advantages and masks meet by their "
    "place in a list. One reshape along the other axis, one filtered list or one sort pairs each sample with a stranger: "
    "the signal becomes noise of the right size.",
    "masks and alignment": "Rows are padded to one length, log-probs are shifted by one, and tools write in the middle. "
    "A mask that is off by one, or a mean that counts padding, trains on tokens that the policy never chose, or weighs "
    "short answers against long ones.",
    "scaling and aggregation": "Many tokens become one number, and how (a mean over rows, over tokens, by a constant) is "
    "the weight of every token. A unit that does not cancel or a mean of means makes the step depend on batch size, "
    "length or the units of the reward.",
    "rollout sync and token identity": "The engine that samples and the model that trains must be one policy on the same "
    "tokens. Old weights, another tokenisation or a token added on one side make importance ratios of samples that the "
    "policy would never have drawn.",
}

LOOK_ALIKES: Mapping[Stage, str] = {
    "reward": "Scores that are negative, continuous or shared by many completions are right. What is compared is a right "
    "with a wrong completion of your own data, never the score with a number of ours. A reward that returns None or NaN to "
    "abstain is told apart from one that fails.",
    "advantages": "A deviation with or without Bessel's correction, an epsilon from 0 to 1e-4, no division at all, the mean "
    "of the siblings or of the whole batch as baseline: each is some method's choice, is recognised and is named in the "
    "report. Only a declared method makes another one wrong.",
    "logprobs": "Log-probs with or without a leading column, in float32 or float64, of logits that were divided by the "
    "temperature before or inside: all are told apart before anything is compared. Tolerances follow the number format "
    "that comes back.",
    "loss": "Means over rows, over tokens and by a constant, one clip edge or two, dual clip, sequence ratios, k1, k2 and "
    "k3 are recognised. Surrogates whose value is not what they descend (CISPO, REINFORCE) are judged by their gradient.",
    "decode": "Cutting reasoning off, keeping it, or returning it apart is a contract that you declare, not a mistake. "
    "Blanks around a text may go; case, letters and lines may not.",
    "reference": "Parameters of a reference that could have a gradient and are in no optimizer are harmless. A policy "
    "whose adapter is switched off is a reference. Rounding between two number formats is allowed for.",
    "configuration": "Unusual values that work are no failure: groups of two, no KL term, one pass whose clip never acts. "
    "What cannot work fails, what is far from usual is a warning, and a setting that is absent is not judged.",
    "source": "These read the text of your functions and run nothing: they warn, and never fail a pipeline. A line that "
    "does on purpose what is warned of is right, and a check that runs the function tells whether it is.",
}

RECORD: Mapping[Stage, str] = {
    "reward": "Samples with prompt, completion, reward and each reward component; then the texts can be read beside their scores.",
    "advantages": "Rewards and advantages of every sample with the id of its group.",
    "logprobs": "`kl_mean` with its estimator, `ratio_mean` and `ratio_max` of the first pass, `entropy_mean`.",
    "loss": "`loss` in its parts (policy, KL, entropy, value), `grad_norm`, `clip_fraction`.",
    "decode": "Samples with the ids and the text that the reward saw; `empty_fraction`, `truncated_fraction`.",
    "reference": "`kl_mean` from the first step, `ratio_mean` of the first pass, `weight_update_ratio`.",
    "configuration": "The trainer's configuration: an attached recorder reads it by itself.",
    "source": "Nothing: a run does not show the line. What it leads to is shown by the metrics of the findings named below.",
}

_PPO = "Schulman et al. 2017, Proximal policy optimization algorithms."
_DETAILS = "Huang et al. 2024, The N+ implementation details of RLHF with PPO."
_GRPO = "Shao et al. 2024, DeepSeekMath: pushing the limits of mathematical reasoning in open language models."
_DR_GRPO = "Liu et al. 2025, Understanding R1-Zero-like training: a critical perspective."
_DAPO = "Yu et al. 2025, DAPO: an open-source LLM reinforcement learning system at scale."
_RLOO = "Ahmadian et al. 2024, Back to basics: revisiting REINFORCE-style optimization for learning from human feedback in LLMs."
_GAE = "Schulman et al. 2016, High-dimensional continuous control using generalized advantage estimation."
_KL = "Schulman 2020, Approximating KL divergence."
_DPO = "Rafailov et al. 2023, Direct preference optimization: your language model is secretly a reward model."
_GSPO = "Zheng et al. 2025, Group sequence policy optimization."
_MISMATCH = "Yao et al. 2025, Your efficient RL framework secretly brings you off-policy RL training."
_PRECISION = "Qi et al. 2025, Defeating the training-inference mismatch via FP16."
_REINFORCE = "Williams 1992, Simple statistical gradient-following algorithms for connectionist reinforcement learning."
_HACKING = "Skalse et al. 2022, Defining and characterizing reward hacking."
_R1 = "DeepSeek-AI 2025, DeepSeek-R1: incentivizing reasoning capability in LLMs via reinforcement learning."
_CLIP = "Engstrom et al. 2020, Implementation matters in deep policy gradients: a case study on PPO and TRPO."
_KTO = "Ethayarajh et al. 2024, KTO: model alignment as prospect theoretic optimization."
_SMOOTH = "Mitchell 2023, A note on DPO with noisy preferences and relationship to IPO."
_MAGISTRAL = "Mistral AI 2025, Magistral."
_TORCH = "PyTorch documentation 2025, Autograd mechanics."
_RE = "Python documentation 2025, re: regular expression operations."

STAGE_SOURCES: Mapping[Stage, tuple[str, ...]] = {
    "reward": (_HACKING, _R1),
    "advantages": (_GRPO, _DR_GRPO, _RLOO),
    "logprobs": (_DETAILS, _MISMATCH),
    "loss": (_PPO, _GRPO, _DAPO),
    "decode": (_DETAILS, _R1),
    "reference": (_DETAILS, _GRPO),
    "configuration": (_DETAILS, _DAPO),
    "source": (_DETAILS, _TORCH),
}

# First id, last id (both of one stage) -> what is more to the point than the stage's sources.
RANGE_SOURCES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("V105", "V106", (_RE, _R1)),
    ("V220", "V227", (_GAE, _DETAILS)),
    ("V229", "V229", (_CLIP, _DETAILS)),
    ("V231", "V231", (_GAE,)),
    ("V309", "V310", (_PRECISION,)),
    ("V316", "V316", (_MISMATCH, _PRECISION)),
    (
        "V320",
        "V324",
        ("Cui et al. 2025, The entropy mechanism of reinforcement learning for reasoning language models.",),
    ),
    ("V409", "V410", (_DAPO, _DR_GRPO)),
    ("V416", "V416", (_REINFORCE, _PPO)),
    ("V420", "V423", (_KL, _GRPO)),
    ("V425", "V425", (_MISMATCH,)),
    ("V428", "V429", (_KL, _GRPO)),
    ("V430", "V433", (_DPO, _SMOOTH)),
    ("V434", "V434", (_CLIP, _DETAILS)),
    ("V435", "V435", (_DPO, _SMOOTH)),
    ("V439", "V439", (_PPO, _GSPO)),
    ("V440", "V440", (_KL,)),
    ("V442", "V442", (_KL,)),
    ("V443", "V443", (_DPO,)),
    ("V444", "V446", (_GAE, _DETAILS)),
    ("V447", "V447", (_KL,)),
    ("V450", "V450", (_DPO,)),
    ("V451", "V451", (_CLIP,)),
    ("V456", "V456", (_PRECISION,)),
    ("V458", "V458", (_PPO, _KL)),
    ("V459", "V459", (_KTO,)),
    ("V612", "V612", (_MISMATCH,)),
    ("V623", "V623", (_PPO,)),
    ("V703", "V703", (_PPO, _DAPO, _GSPO)),
    ("V709", "V709", (_PRECISION,)),
    ("V714", "V714", (_DR_GRPO, _GSPO)),
    ("V718", "V718", (_GAE,)),
    ("V722", "V722", (_SMOOTH,)),
    ("V723", "V723", (_MAGISTRAL, _DAPO)),
    ("V805", "V805", (_RE,)),
)

# Checks of the configuration -> canonical settings whose names the page gives.
CHECK_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "V209": ("advantage_scaling",),
    "V307": ("temperature",),
    "V409": ("loss_type",),
    "V412": ("clip_low", "clip_high"),
    "V425": ("sampler_correction",),
    "V429": ("kl_coefficient",),
    "V455": ("entropy_coefficient",),
    "V515": ("mask_truncated",),
    "V701": ("learning_rate",),
    "V702": ("kl_coefficient",),
    "V703": ("clip_low", "clip_high"),
    "V704": ("group_size",),
    "V705": ("group_size", "batch_prompts"),
    "V707": ("temperature", "top_p", "top_k"),
    "V708": ("max_completion_tokens", "mask_truncated"),
    "V709": ("dtype",),
    "V710": ("updates_per_rollout",),
    "V714": ("loss_type", "advantage_scaling"),
    "V715": ("warmup_steps", "max_steps"),
    "V716": ("max_grad_norm",),
    "V717": ("learning_rate",),
    "V719": ("sync_reference",),
    "V723": ("entropy_coefficient",),
}

# Where no seeded bug breaks a check: a right and a wrong line, written by hand.
WRITTEN: Mapping[str, tuple[str, str]] = {
    "V108": ("return min(len(steps), 5) / 5", "return 10.0 * len(text)"),
    "V111": ("last = parts[-1]", "last = parts.pop()"),
    "V120": ("return float(answers[-1] == gold)", "return float(gold in answers)"),
    "V121": ("return float(all(run(code, test) for test in tests))", "return float(run(code, tests[0]))"),
    "V210": (
        "centred = r - r.mean(); std = centred.pow(2).mean().sqrt()",
        "std = (r.pow(2).mean() - r.mean() ** 2).sqrt()",
    ),
    "V216": ("rewards.reshape(-1, group_size)", "rewards.reshape(-1, 8)"),
    "V317": ("logits = logits / temperature", "logits /= temperature"),
    "V329": ("model(ids, attention_mask=mask)", "model(ids)"),
    "V460": ("mask = mask * tool_mask", "loss = (per_token * tool_mask).sum() / mask.sum()"),
    "V509": ("loss(sampled_ids)", "loss(tokenizer.encode(tokenizer.decode(sampled_ids)))"),
    "V510": ("tokenizer.encode(prompt, add_special_tokens=False)", "tokenizer.encode(prompt)"),
    "V516": ("ended = torch.isin(ids, end_ids)", "ended = ids == end_ids[0]"),
    "V623": (
        "-torch.min(ratio * advantages, clipped * advantages)",
        "-torch.max(ratio * advantages, clipped * advantages)",
    ),
    "V714": ('loss_type="dr_grpo", scale_rewards="none"', 'loss_type="dr_grpo", scale_rewards="group"'),
    "V721": ("epsilon_high=0.28", "eps_high=0.28"),
    "V723": ("entropy_coef=0.001", "entropy_coef=-0.001"),
    "V806": ('if scale_rewards == "group":', "if scale_rewards:"),
    "V807": ("mask = torch.arange(width) <= first_end[:, None]", "mask = ids != pad_id"),
    "V810": ("except ValueError:", "except Exception:"),
    "V811": ("def score(text, seen=None):", "def score(text, seen=[]):"),
    "V813": ("torch.log_softmax(logits, -1)", "torch.log(torch.softmax(logits, -1))"),
}

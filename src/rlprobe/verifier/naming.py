"""The role that a parameter's name says by its words, where no alias in `roles.py` is the name itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A name plays the role if it has a word of every set in `needs` and none of `without`."""

    role: str
    needs: tuple[Words, ...]
    without: Words = frozenset()

    def holds(self, words: Words) -> bool:
        """Whether a name of these words plays the role."""
        return all(words & one for one in self.needs) and not words & self.without


def _any(text: str) -> Words:
    return frozenset(text.split())


# fmt: off
LOGPROB = _any("logp logps logprob logprobs lp lps logpi logpis loglik loglikelihood loglikelihoods nlp")
REFERENCE = _any("ref reference base sft init initial frozen anchor teacher")
SAMPLER = _any("rollout rollouts behav behave behavior behaviour behavioral behavioural sampler sampling sampled sample gen generation generated "
               "generator inference infer vllm sglang engine mu actor_engine")
OLD = _any("old prev previous before collected stored cached orig original beh b") | SAMPLER
MASK = _any("mask masks masked mask2d valid keep msk")
TOOL = _any("tool tools env environment obs observation assistant agent interaction turn turns")
VALUE = _any("value values vpred vpreds v vs critic baseline baselines vf")
RETURN = _any("return returns ret rets rtg target targets")
COEFFICIENT = _any("coef coeff coefficient weight scale lambda alpha beta ctl ctrl strength factor mult")
CLIP = _any("clip eps epsilon cliprange clipping trust")
LOWER, UPPER = _any("low lower min lo left neg down"), _any("high higher upper max hi right pos up")
REWARD = _any("reward rewards rew rews score scores rwd rwds r outcome outcomes")
GROUP = _any("group groups prompt prompts question questions query problem task instance uid uids g")
IDENTITY = _any("id ids idx idxs index indices inds key keys map mapping label labels uid uids assignment assignments number numbers")
SAMPLES = _any("samples generations gens rollouts completions responses sample generation responses answers trajectories")
TOKENS = _any("ids id token tokens label labels target targets action actions index indices tgt sequence sequences sampled input completion response")
CHOSEN = _any("chosen win winner winners w pos positive preferred better yw good accepted accept c")
REJECTED = _any("rejected reject rej lose loser losers losing l neg negative dispreferred worse yl bad r")
LENGTH = _any("len length lens lengths tokens seqlen size")
MODEL = _any("model policy net actor lm network student module llm")

_MASKS = (Rule("tool_mask", (MASK, TOOL)), Rule("mask", (MASK,), TOOL))
_LOSS = (
    Rule("ref_logprobs", (LOGPROB, REFERENCE)), Rule("old_logprobs", (LOGPROB, OLD)), Rule("logprobs", (LOGPROB,)),
    Rule("clip_low", (CLIP, LOWER), VALUE), Rule("clip_high", (CLIP, UPPER), VALUE),
    Rule("value_clip", (CLIP, VALUE)), Rule("clip", (CLIP,), VALUE | _any("std adv c")),
    Rule("entropy_coefficient", (_any("ent entropy"), COEFFICIENT)), Rule("entropy", (_any("ent entropy entropies"),)),
    Rule("value_coefficient", (VALUE, COEFFICIENT)), Rule("kl_coefficient", (_any("kl beta"), COEFFICIENT | _any("penalty"))),
    Rule("old_values", (VALUE, OLD)), Rule("returns", (RETURN,)), Rule("values", (VALUE,)),
    Rule("importance_ratio", (_any("is tis importance correction"), _any("ratio ratios weight weights"))),
    Rule("advantages", (_any("adv advs advantage advantages advs gae a"),), _any("eps std norm normalize whiten")),
    *_MASKS,
    Rule("max_completion_tokens", (_any("max const constant norm horizon"), LENGTH)),
    Rule("normalizer", (_any("num total global denominator normalizer denom n"), _any("tokens items batch denom denominator normalizer"))),
)
RULES: Mapping[str, tuple[Rule, ...]] = {
    "logprobs": (Rule("logits", (_any("logit logits scores"),)), Rule("temperature", (_any("temp temperature tau"),)), Rule("mask", (MASK,)), Rule("ids", (TOKENS,))),
    "entropy": (Rule("logits", (_any("logit logits scores"),)), Rule("temperature", (_any("temp temperature tau"),)), Rule("mask", (MASK,))),
    "completion_mask": (Rule("eos_id", (_any("eos stop end"),)), Rule("pad_id", (_any("pad padding"),)), Rule("completion_ids", (TOKENS,))),
    "advantages": (
        Rule("group_size", (_any("size n num k per number"), GROUP | SAMPLES | _any("group")), _any("groups")),
        Rule("group_ids", (GROUP, IDENTITY)), Rule("group_ids", (_any("uid uids groups"),)),
        Rule("advantage_epsilon", (_any("eps epsilon"),)), Rule("gamma", (_any("gamma discount"),)),
        Rule("mask", (MASK,)), Rule("rewards", (REWARD,), _any("std norm normalize scale weights")),
    ),
    "gae": (
        Rule("mask", (MASK,)), Rule("gamma", (_any("gamma discount"),)), Rule("lam", (_any("lam lambda lambd lmbda"),)),
        Rule("dones", (_any("done dones terminal terminals terminated term end ends"),)), Rule("truncated", (_any("trunc truncated truncation truncations"),)),
        Rule("last_values", (VALUE, _any("last next bootstrap final"))), Rule("last_values", (_any("bootstrap"),)),
        Rule("width", (LENGTH,)), Rule("values", (VALUE,)), Rule("rewards", (REWARD,)),
    ),
    "whiten": (Rule("mask", (MASK,)), Rule("shift_mean", (_any("mean"),)), Rule("values", (_any("adv advs advantage advantages value values x xs tensor data scores rewards returns"),))),
    "kl": (Rule("ref_logprobs", (LOGPROB, REFERENCE | OLD)), Rule("logprobs", (LOGPROB,)), Rule("mask", (MASK,))),
    "loss": _LOSS,
    "dpo_loss": (
        Rule("dpo_beta", (_any("beta tau temperature"),)), Rule("label_smoothing", (_any("smoothing smooth"),)),
        Rule("ref_chosen_logprobs", (CHOSEN, REFERENCE)), Rule("ref_rejected_logprobs", (REJECTED, REFERENCE)),
        Rule("chosen_logprobs", (CHOSEN,), _any("reward rewards mask ids len")), Rule("rejected_logprobs", (REJECTED,), _any("reward rewards mask ids len")),
    ),
    "value_loss": (Rule("clip", (CLIP,)), Rule("mask", (MASK,)), Rule("old_values", (VALUE, OLD)), Rule("returns", (RETURN,)), Rule("values", (VALUE,))),
    "score": (Rule("model", (MODEL,)), Rule("temperature", (_any("temp temperature tau"),)), Rule("completion_tokens", (_any("keep completion response"), LENGTH | _any("logits"))),
              Rule("mask", (MASK,)), Rule("positions", (_any("pos position positions"),)), Rule("ids", (TOKENS,))),
    "engine_logprobs": (Rule("mask", (MASK,)), Rule("ids", (TOKENS,))),
    "train_step": (
        Rule("ref_model", (MODEL, REFERENCE)), Rule("optimizer", (_any("opt optim optimizer optimiser"),)), Rule("ref_logprobs", (LOGPROB, REFERENCE)), Rule("old_logprobs", (LOGPROB, OLD)),
        Rule("advantages", (_any("adv advs advantage advantages"),)), Rule("completion_tokens", (_any("keep completion response"), LENGTH)), Rule("mask", (MASK,)),
        Rule("model", (MODEL,)), Rule("ids", (TOKENS,)),
    ),
}
# fmt: on
_TOGETHER = (
    (re.compile(r"log_?prob(abilit(y|ie))?(s?)(?=_|$)"), "logprobs"),
    (re.compile(r"log_p(s?|is?)(?=_|$)"), "logps"),
    (re.compile(r"log_likelihoods?"), "loglikelihood"),
    (re.compile(r"clip_?range"), "clip"),
    (re.compile(r"v_?preds?(?=_|$)"), "vpreds"),
)


# What no parameter is that a name with one of these words names: its place in the signature says nothing then.
FOREIGN: Mapping[str, Words] = {
    "loss": _any(
        "ratio ratios loss losses reward rewards logit logits ids tokens model policy_model probs prob labels"
    ),
    "dpo_loss": _any("logit logits idx idxs index ids labels mask model policy"),
    "logprobs": _any("hidden states weight mask reward rewards"),
    "advantages": _any("values logprobs kl"),
}


def foreign(name: str, slot: str, role: str) -> bool:
    """Whether the words of a name speak against the role that its place in the signature would give it."""
    said = words(name)
    of_reference = bool(said & REFERENCE) and not role.startswith("ref_")
    return of_reference or bool(said & FOREIGN.get(slot, frozenset()))


def words(name: str) -> Words:
    """Words of a parameter's name: snake and camel case split, the field's compounds kept together."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    for pattern, one in _TOGETHER:
        snake = pattern.sub(one, snake)
    return frozenset(re.findall(r"[a-z]+[0-9]*[a-z]*", snake.replace("_", " ")))


def by_words(name: str, slot: str, open_roles: Words) -> str:
    """The first open role whose rule the name keeps; "" where none does."""
    said = words(name)
    for rule in RULES.get(slot, ()):
        if rule.role in open_roles and rule.holds(said):
            return rule.role
    return ""

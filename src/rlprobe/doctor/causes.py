"""What causes what: the causal graph, and the ordering of findings into incidents, roots above consequences."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from rlprobe.doctor.finding import SEVERITIES, Finding, Incident

SLACK = 0.05  # fraction of the run by which a consequence's estimated onset may precede its cause's
_Rank = tuple[int, int, int, int, str]
# What can keep a reward or a loss flat, in the order of the pipeline: the first that holds is the answer.
FLATTENING = (
    "REWARD_CONSTANT",
    "REWARD_TEXT_MISMATCH",
    "EMPTY_COMPLETIONS",
    "TRUNCATION_STARVE",
    "GROUPING_BUG",
    "DEGENERATE_GROUPS",
    "ADV_COLLAPSE",
    "KL_DOMINATES",
    "CLIP_SATURATION",
    "ZERO_GRADIENT",
    "NO_WEIGHT_UPDATE",
    "LR_ANOMALY",
    "STALE_ROLLOUT_WEIGHTS",
)
GAUGES = frozenset({"KL_BLOWUP"})  # they measure that the policy moved, and not by what
_STAGES = ("infrastructure", "configuration", "reward", "advantages", "policy", "optimization", "generation")


@dataclass(frozen=True, slots=True)
class Edge:
    """A cause, a consequence, and the mechanism that leads from one to the other."""

    cause: str
    consequence: str
    mechanism: str


# Source of the edges: research literature named on the catalog pages of the signatures.
EDGES: tuple[Edge, ...] = (
    Edge("REWARD_CONSTANT", "DEGENERATE_GROUPS", "a constant reward leaves every group without spread"),
    Edge("REWARD_CONSTANT", "REWARD_STD_DEATH", "a constant reward has no spread"),
    Edge("REWARD_CONSTANT", "REWARD_COMPONENT_DEAD", "the total is constant because its parts are"),
    Edge("REWARD_NOT_FINITE", "NUMERIC_NAN", "a reward that is not a number makes every advantage of its group one"),
    Edge("REWARD_NOT_FINITE", "REWARD_COLLAPSE", "rewards that are not numbers poison the update"),
    Edge("REWARD_NOT_FINITE", "ADV_COLLAPSE", "rewards that are not numbers leave no usable advantage"),
    Edge("REWARD_TEXT_MISMATCH", "REWARD_CONSTANT", "the reward function scores another text than the policy wrote"),
    Edge(
        "REWARD_TEXT_MISMATCH", "REWARD_COMPONENT_DEAD", "the reward function scores another text than the policy wrote"
    ),
    Edge("REWARD_TEXT_MISMATCH", "NO_LEARNING", "the reward says nothing about the text that was generated"),
    Edge("REWARD_TEXT_MISMATCH", "DEGENERATE_GROUPS", "the reward says nothing about the text that was generated"),
    Edge("REWARD_TEXT_MISMATCH", "REWARD_COLLAPSE", "what is paid belongs to another text"),
    Edge("REWARD_TEXT_MISMATCH", "FORMAT_LOSS", "what is paid belongs to another text"),
    Edge("EMPTY_COMPLETIONS", "REWARD_TEXT_MISMATCH", "decoding returns nothing for the tokens that were generated"),
    Edge("EMPTY_COMPLETIONS", "REWARD_CONSTANT", "an empty text scores the floor whatever was generated"),
    Edge("EMPTY_COMPLETIONS", "DEGENERATE_GROUPS", "an empty text scores the floor whatever was generated"),
    Edge("EMPTY_COMPLETIONS", "REWARD_COLLAPSE", "an empty text scores the floor whatever was generated"),
    Edge("REWARD_COMPONENT_DEAD", "NO_LEARNING", "the reward function that should teach never varies"),
    Edge("DEGENERATE_GROUPS", "ADV_COLLAPSE", "a group without spread has zero advantage"),
    Edge("DEGENERATE_GROUPS", "ZERO_GRADIENT", "without advantage there is no policy gradient"),
    Edge("DEGENERATE_GROUPS", "NO_LEARNING", "without advantage there is nothing to learn from"),
    Edge("DEGENERATE_GROUPS", "REWARD_STD_DEATH", "groups without spread have no reward deviation"),
    Edge("DEGENERATE_GROUPS", "GRAD_PATHOLOGY", "the few groups that differ carry the whole gradient, in spikes"),
    Edge("REWARD_STD_DEATH", "ADV_COLLAPSE", "advantages are reward deviations"),
    Edge("REWARD_STD_DEATH", "NO_LEARNING", "without reward spread there is nothing to learn from"),
    Edge("REWARD_STD_DEATH", "ZERO_GRADIENT", "without reward spread there is no policy gradient"),
    Edge("ADV_COLLAPSE", "ZERO_GRADIENT", "the policy gradient is advantage times score"),
    Edge("ADV_COLLAPSE", "NO_LEARNING", "the policy gradient is advantage times score"),
    Edge("ZERO_GRADIENT", "NO_WEIGHT_UPDATE", "an optimizer moves nothing on a zero gradient"),
    Edge("ZERO_GRADIENT", "NO_LEARNING", "an optimizer moves nothing on a zero gradient"),
    Edge("NO_WEIGHT_UPDATE", "NO_LEARNING", "a policy that does not move cannot learn"),
    Edge("GROUPING_BUG", "ADVANTAGE_INVALID", "a baseline over several prompts is not the group's"),
    Edge("GROUPING_BUG", "DEGENERATE_GROUPS", "groups of one have no spread"),
    Edge("GROUPING_BUG", "NO_LEARNING", "advantages that compare different prompts teach nothing"),
    Edge("ADVANTAGE_INVALID", "REWARD_COLLAPSE", "a wrong advantage trains towards lower reward"),
    Edge("ADVANTAGE_INVALID", "GRAD_PATHOLOGY", "advantages beyond their bound scale the gradient"),
    Edge("ADVANTAGE_INVALID", "LIKELIHOOD_DISPLACEMENT", "a wrong sign lowers the log-prob of right answers"),
    Edge("ADVANTAGE_INVALID", "NO_LEARNING", "a wrong advantage teaches nothing"),
    Edge("REWARD_HACK_LENGTH", "LENGTH_EXPLOSION", "length is paid"),
    Edge("REWARD_HACK_LENGTH", "REPETITION_SPIRAL", "repeating is the cheapest way to be long"),
    Edge("REWARD_HACK_LENGTH", "EVAL_GAP", "what is paid is not what is wanted"),
    Edge("REWARD_HACK_LENGTH", "KL_BLOWUP", "the policy leaves the reference for length"),
    Edge("REWARD_HACK_LENGTH", "REWARD_OVEROPTIMIZATION", "what is paid is not what is wanted"),
    Edge("REWARD_HACK_LENGTH", "NO_EOS", "ending costs reward"),
    Edge("REWARD_HACK_LENGTH", "FORMAT_LOSS", "text is paid after the answer's end"),
    Edge("REWARD_HACK_LENGTH", "FORMAT_GAMING", "length is the easy part of the reward"),
    Edge("LENGTH_BIAS", "LENGTH_EXPLOSION", "the loss normalisation lets wrong answers grow"),
    Edge("LENGTH_BIAS", "TRUNCATION_STARVE", "wrong answers grow into the cap"),
    Edge("LENGTH_EXPLOSION", "TRUNCATION_STARVE", "completions grow into the cap"),
    Edge("RANK_DIVERGENCE", "THROUGHPUT_ROT", "every rank waits for the slowest"),
    Edge("LENGTH_EXPLOSION", "THROUGHPUT_ROT", "longer completions cost more seconds"),
    Edge("LENGTH_EXPLOSION", "MEMORY_CREEP", "longer completions need more memory"),
    Edge("NO_EOS", "TRUNCATION_STARVE", "a completion that never ends is cut at the cap"),
    Edge("NO_EOS", "LENGTH_EXPLOSION", "a completion that never ends runs into the cap"),
    Edge("NO_EOS", "REPETITION_SPIRAL", "text after its natural end repeats itself"),
    Edge("NO_EOS", "KL_BLOWUP", "the reference expects the end token where the policy cannot give it"),
    Edge("NO_EOS", "REWARD_CONSTANT", "an answer that is never finished scores the floor"),
    Edge("NO_EOS", "DEGENERATE_GROUPS", "an answer that is never finished scores the floor"),
    Edge("NO_EOS", "NO_LEARNING", "an answer that is never finished scores the floor"),
    Edge("NO_EOS", "TRAIN_INFER_MISMATCH", "the sampler withholds a token that the trainer expects"),
    Edge("TRUNCATION_STARVE", "REWARD_COLLAPSE", "a cut answer cannot score"),
    Edge("TRUNCATION_STARVE", "REWARD_CONSTANT", "a cut answer cannot score"),
    Edge("TRUNCATION_STARVE", "DEGENERATE_GROUPS", "cut answers all score the floor"),
    Edge("TRUNCATION_STARVE", "REWARD_STD_DEATH", "cut answers all score the floor"),
    Edge("TRUNCATION_STARVE", "NO_LEARNING", "cut answers all score the floor"),
    Edge("TRUNCATION_STARVE", "ENTROPY_EXPLOSION", "cut answers are punished for tokens that were right"),
    Edge("TRUNCATION_STARVE", "REWARD_COMPONENT_DEAD", "a cut answer cannot score"),
    Edge("TRUNCATION_STARVE", "FORMAT_LOSS", "a cut answer lacks its last part"),
    Edge("REPETITION_SPIRAL", "LENGTH_EXPLOSION", "a loop has no end"),
    Edge("REPETITION_SPIRAL", "TRUNCATION_STARVE", "a loop runs into the cap"),
    Edge("REPETITION_SPIRAL", "REWARD_COLLAPSE", "a loop holds no answer"),
    Edge("REPETITION_SPIRAL", "FORMAT_LOSS", "a loop never comes to the answer"),
    Edge("REPETITION_SPIRAL", "REWARD_HACK_LENGTH", "a loop that is paid is paid more the longer it is"),
    Edge("GIBBERISH", "REWARD_COLLAPSE", "broken text cannot score"),
    Edge("GIBBERISH", "FORMAT_LOSS", "broken text has no format"),
    Edge("GIBBERISH", "KL_BLOWUP", "the reference would not write these letters"),
    Edge("GIBBERISH", "REWARD_HACK_LENGTH", "letters that are paid are paid more the more there are"),
    Edge("FORMAT_LOSS", "REWARD_COLLAPSE", "a right answer without the format scores nothing"),
    Edge("FORMAT_LOSS", "DEGENERATE_GROUPS", "answers without the format all score the floor"),
    Edge("FORMAT_LOSS", "REWARD_STD_DEATH", "answers without the format all score the floor"),
    Edge("FORMAT_LOSS", "FORMAT_GAMING", "without the format only the easy part of the reward is left"),
    Edge("FORMAT_LOSS", "EVAL_GAP", "held-out answers lose their format as well"),
    Edge("FORMAT_GAMING", "REWARD_OVEROPTIMIZATION", "the easy part of the reward is what is optimised"),
    Edge("FORMAT_GAMING", "NO_LEARNING", "the easy part of the reward is all that is learned"),
    Edge("REWARD_OVEROPTIMIZATION", "KL_BLOWUP", "the policy leaves the reference for the proxy"),
    Edge("REWARD_OVEROPTIMIZATION", "EVAL_GAP", "the proxy is not the goal"),
    Edge("REWARD_OVEROPTIMIZATION", "REWARD_HACK_LENGTH", "what the proxy likes fits more often into a longer text"),
    Edge("REWARD_OVEROPTIMIZATION", "REPETITION_SPIRAL", "what the proxy likes is written again and again"),
    Edge("REWARD_OVEROPTIMIZATION", "FORMAT_LOSS", "what the proxy likes has no need of the format"),
    Edge("ENTROPY_COLLAPSE", "DUPLICATE_COMPLETIONS", "a policy without entropy writes one answer"),
    Edge("ENTROPY_COLLAPSE", "DEGENERATE_GROUPS", "one answer a group has one reward"),
    Edge("ENTROPY_COLLAPSE", "REWARD_STD_DEATH", "one answer a group has one reward"),
    Edge("ENTROPY_COLLAPSE", "NO_LEARNING", "nothing new is tried"),
    Edge("DUPLICATE_COMPLETIONS", "DEGENERATE_GROUPS", "equal completions have equal rewards"),
    Edge("DUPLICATE_COMPLETIONS", "REWARD_STD_DEATH", "equal completions have equal rewards"),
    Edge("DUPLICATE_COMPLETIONS", "GRAD_PATHOLOGY", "the few groups that differ carry the whole gradient, in spikes"),
    Edge("STALE_ROLLOUT_WEIGHTS", "TRAIN_INFER_MISMATCH", "the sampler runs older weights than the trainer"),
    Edge("STALE_ROLLOUT_WEIGHTS", "STALENESS", "the sampler runs older weights than the trainer"),
    Edge("STALE_ROLLOUT_WEIGHTS", "RATIO_NOT_ONE", "the sampler runs older weights than the trainer"),
    Edge("STALE_ROLLOUT_WEIGHTS", "CLIP_SATURATION", "ratios against old weights leave the clip range"),
    Edge("STALE_ROLLOUT_WEIGHTS", "NO_LEARNING", "the samples never show what was learned"),
    Edge("STALE_ROLLOUT_WEIGHTS", "KL_BLOWUP", "nothing that the policy has become is ever judged"),
    Edge("DECODE_MISMATCH", "TRAIN_INFER_MISMATCH", "the sampler draws from another distribution than is scored"),
    Edge("DECODE_MISMATCH", "RATIO_NOT_ONE", "the sampler draws from another distribution than the one that is scored"),
    Edge("DECODE_MISMATCH", "KL_BLOWUP", "tokens outside the scored distribution pull the policy away"),
    Edge("STALENESS", "TRAIN_INFER_MISMATCH", "samples come from older policies"),
    Edge("STALENESS", "CLIP_SATURATION", "ratios against old policies leave the clip range"),
    Edge("STALENESS", "REWARD_COLLAPSE", "updates follow samples of a policy that is gone"),
    Edge("TRAIN_INFER_MISMATCH", "GRAD_PATHOLOGY", "importance weights with heavy tails blow up the gradient"),
    Edge("TRAIN_INFER_MISMATCH", "ENTROPY_EXPLOSION", "the gradient favours what the sampler cannot show"),
    Edge("TRAIN_INFER_MISMATCH", "REWARD_COLLAPSE", "the gradient does not belong to the samples"),
    Edge("TRAIN_INFER_MISMATCH", "LIKELIHOOD_DISPLACEMENT", "the gradient does not belong to the samples"),
    Edge("RATIO_NOT_ONE", "CLIP_SATURATION", "ratios begin outside their range"),
    Edge("LIKELIHOOD_DISPLACEMENT", "GRAD_PATHOLOGY", "low log-probs make large gradients"),
    Edge("LIKELIHOOD_DISPLACEMENT", "REWARD_COLLAPSE", "right answers become unlikely"),
    Edge("LIKELIHOOD_DISPLACEMENT", "LENGTH_EXPLOSION", "the end of an answer becomes unlikely with the answer"),
    Edge("LIKELIHOOD_DISPLACEMENT", "FORMAT_LOSS", "the format of right answers becomes unlikely with them"),
    Edge("LR_ANOMALY", "CLIP_SATURATION", "steps too large leave the clip range"),
    Edge("LR_ANOMALY", "KL_BLOWUP", "steps too large leave the reference"),
    Edge("LR_ANOMALY", "GRAD_PATHOLOGY", "steps too large overshoot"),
    Edge("LR_ANOMALY", "ENTROPY_COLLAPSE", "steps too large make the policy certain at once"),
    Edge("LR_ANOMALY", "REWARD_COLLAPSE", "steps too large destroy the policy"),
    Edge("LR_ANOMALY", "NO_WEIGHT_UPDATE", "a learning rate of zero moves nothing"),
    Edge("LR_ANOMALY", "NO_LEARNING", "a learning rate too small moves nothing"),
    Edge("LR_ANOMALY", "VALUE_DIVERGENCE", "steps too large make the value head diverge"),
    Edge("LR_ANOMALY", "PREFERENCE_COLLAPSE", "steps too large push chosen and rejected answers down together"),
    Edge("CLIP_SATURATION", "KL_BLOWUP", "updates far from the old policy"),
    Edge("CLIP_SATURATION", "NO_LEARNING", "most of the gradient is clipped away"),
    Edge("GRAD_PATHOLOGY", "NUMERIC_NAN", "an exploding gradient overflows"),
    Edge("GRAD_PATHOLOGY", "ENTROPY_EXPLOSION", "a broken update scrambles the policy"),
    Edge("GRAD_PATHOLOGY", "ENTROPY_COLLAPSE", "a broken update saturates the policy"),
    Edge("GRAD_PATHOLOGY", "KL_BLOWUP", "a broken update leaves the reference"),
    Edge("GRAD_PATHOLOGY", "REWARD_COLLAPSE", "a broken update destroys the policy"),
    Edge("KL_BLOWUP", "NUMERIC_NAN", "exponentials of large log-ratios overflow"),
    Edge("KL_BLOWUP", "REWARD_COLLAPSE", "the policy has left the region where it was able"),
    Edge("KL_BLOWUP", "VALUE_DIVERGENCE", "the KL penalty inside the reward becomes the return"),
    Edge("KL_BLOWUP", "REWARD_STD_DEATH", "the policy has left the region where it was able"),
    Edge("KL_BLOWUP", "GIBBERISH", "the policy has left the language of the reference"),
    Edge("KL_BLOWUP", "ENTROPY_COLLAPSE", "the policy has settled on text that the reference would not write"),
    Edge("KL_BLOWUP", "LENGTH_COLLAPSE", "the policy has left the region where it was able"),
    Edge("KL_BLOWUP", "TRUNCATION_STARVE", "the policy has left the region where it was able"),
    Edge("KL_BLOWUP", "FORMAT_LOSS", "the policy has left the region where it was able"),
    Edge("KL_BLOWUP", "REPETITION_SPIRAL", "the policy has left the language of the reference"),
    Edge("ENTROPY_EXPLOSION", "GIBBERISH", "tokens become noise"),
    Edge("ENTROPY_EXPLOSION", "REPETITION_SPIRAL", "the text loses its thread"),
    Edge("ENTROPY_EXPLOSION", "LENGTH_EXPLOSION", "the end token becomes as unlikely as every other"),
    Edge("ENTROPY_EXPLOSION", "TRUNCATION_STARVE", "the end token becomes as unlikely as every other"),
    Edge("ENTROPY_EXPLOSION", "REWARD_COLLAPSE", "noise cannot score"),
    Edge("ENTROPY_EXPLOSION", "FORMAT_LOSS", "noise has no format"),
    Edge("ENTROPY_EXPLOSION", "KL_BLOWUP", "noise is far from every reference"),
    Edge("ENTROPY_EXPLOSION", "LIKELIHOOD_DISPLACEMENT", "probability flows from right answers to noise"),
    Edge("LENGTH_COLLAPSE", "REWARD_COLLAPSE", "an answer of nothing scores nothing"),
    Edge("LENGTH_COLLAPSE", "ENTROPY_COLLAPSE", "an answer of one token leaves nothing to choose"),
    Edge("LENGTH_COLLAPSE", "DEGENERATE_GROUPS", "answers of nothing are all alike"),
    Edge("LENGTH_COLLAPSE", "TOOL_USE_COLLAPSE", "an answer of nothing calls no tool"),
    Edge("LENGTH_COLLAPSE", "REWARD_STD_DEATH", "answers of nothing are all alike"),
    Edge("LENGTH_COLLAPSE", "FORMAT_LOSS", "an answer of nothing has no format"),
    Edge("LENGTH_COLLAPSE", "FORMAT_GAMING", "being short is the easy part of the reward"),
    Edge("LENGTH_COLLAPSE", "KL_BLOWUP", "the reference would not end there"),
    Edge("LENGTH_COLLAPSE", "EVAL_GAP", "held-out answers shrink as well"),
    Edge("TOOL_USE_COLLAPSE", "REWARD_COLLAPSE", "what the tools found is missing from the answers"),
    Edge("TOOL_USE_COLLAPSE", "LENGTH_EXPLOSION", "the policy writes what it used to look up"),
    Edge("TOOL_USE_COLLAPSE", "ENTROPY_EXPLOSION", "the policy writes what it used to look up"),
    Edge("TOOL_USE_COLLAPSE", "LENGTH_COLLAPSE", "turns that held tool calls are gone"),
    Edge("TOOL_USE_COLLAPSE", "REWARD_SCALE_SHIFT", "calls that used to be paid are charged at once"),
    Edge("VALUE_DIVERGENCE", "KL_BLOWUP", "advantages of a broken value head are noise"),
    Edge("VALUE_DIVERGENCE", "CLIP_SATURATION", "advantages of a broken value head are large"),
    Edge("VALUE_DIVERGENCE", "REWARD_COLLAPSE", "advantages of a broken value head are noise"),
    Edge("VALUE_DIVERGENCE", "ENTROPY_EXPLOSION", "advantages of a broken value head are noise"),
    Edge("VALUE_DIVERGENCE", "NO_LEARNING", "advantages of a broken value head are noise"),
    Edge("VALUE_DIVERGENCE", "NUMERIC_NAN", "advantages of a broken value head grow without bound"),
    Edge("NUMERIC_NAN", "REWARD_COLLAPSE", "weights that are not numbers write nothing"),
    Edge("NUMERIC_NAN", "NO_LEARNING", "updates that are not numbers are skipped or destroy"),
    Edge("NUMERIC_NAN", "NO_WEIGHT_UPDATE", "updates that are not numbers are skipped"),
    Edge("NUMERIC_NAN", "GIBBERISH", "weights that are not numbers write one token"),
    Edge("NUMERIC_NAN", "FORMAT_LOSS", "weights that are not numbers write one token"),
    Edge("NUMERIC_NAN", "NO_EOS", "weights that are not numbers write one token"),
    Edge("NUMERIC_NAN", "REPETITION_SPIRAL", "weights that are not numbers write one token"),
    Edge("NUMERIC_NAN", "DUPLICATE_COMPLETIONS", "weights that are not numbers write one token"),
    Edge("NUMERIC_NAN", "VALUE_DIVERGENCE", "a value head fed numbers that are none diverges"),
    Edge("REFERENCE_MISMATCH", "KL_BLOWUP", "the policy is measured against a model that it never was"),
    Edge("REFERENCE_MISMATCH", "KL_DOMINATES", "the KL term pulls to a model that the policy never was"),
    Edge("REFERENCE_MISMATCH", "NO_LEARNING", "the KL term pulls to a model that the policy never was"),
    Edge("REFERENCE_MISMATCH", "REF_POLICY_DRIFT_ASYMMETRY", "another model differs most where answers begin"),
    Edge("KL_DOMINATES", "NO_LEARNING", "the KL term outweighs what the reward says"),
    Edge("KL_DOMINATES", "LENGTH_COLLAPSE", "a shorter text pays less KL penalty"),
    Edge("KL_DOMINATES", "GRAD_PATHOLOGY", "the KL term's gradient grows with its coefficient"),
    Edge("REFERENCE_MOVING", "REWARD_OVEROPTIMIZATION", "nothing holds the policy to where it came from"),
    Edge("REFERENCE_MOVING", "ENTROPY_COLLAPSE", "nothing holds the policy to where it came from"),
    Edge("RESUME_DISCONTINUITY", "REWARD_COLLAPSE", "what was lost at the resume was needed"),
    Edge("RESUME_DISCONTINUITY", "GRAD_PATHOLOGY", "optimizer state was lost at the resume"),
    Edge("RESUME_DISCONTINUITY", "FORMAT_LOSS", "what was lost at the resume was needed"),
    Edge("REWARD_SCALE_SHIFT", "VALUE_DIVERGENCE", "the value head predicts another scale"),
    Edge("REWARD_SCALE_SHIFT", "GRAD_PATHOLOGY", "the gradient follows the reward's scale"),
    Edge("CONFIG_MISUSE", "NO_LEARNING", "the setting leaves nothing to learn from"),
    Edge("CONFIG_MISUSE", "DEGENERATE_GROUPS", "the setting leaves groups without spread"),
    Edge("CONFIG_MISUSE", "TRUNCATION_STARVE", "the cap is below what an answer needs"),
    Edge("CONFIG_MISUSE", "KL_DOMINATES", "the coefficient outweighs the reward"),
    Edge("CONFIG_MISUSE", "NO_WEIGHT_UPDATE", "the setting keeps the weights where they are"),
    Edge("CONFIG_MISUSE", "DUPLICATE_COMPLETIONS", "sampling without chance writes the same text again"),
    Edge("CONFIG_MISUSE", "ENTROPY_COLLAPSE", "the setting pays for certainty"),
    Edge("CONFIG_MISUSE", "GROUPING_BUG", "the setting makes groups of one"),
    Edge("REWARD_COLLAPSE", "REWARD_STD_DEATH", "at the floor every reward is the same"),
    Edge("REWARD_COLLAPSE", "DEGENERATE_GROUPS", "at the floor every reward is the same"),
    Edge("REWARD_COLLAPSE", "EVAL_GAP", "a policy that has collapsed fails held-out prompts too"),
)

_CHILDREN: Mapping[str, frozenset[str]] = {
    cause: frozenset(edge.consequence for edge in EDGES if edge.cause == cause)
    for cause in {edge.cause for edge in EDGES}
}


def order(
    findings: list[Finding], steps: tuple[int, int], unseen: frozenset[str] = frozenset()
) -> tuple[tuple[Finding, ...], tuple[Incident, ...]]:
    """Findings in reading order, each placed under its root, and the incidents they make.

    Args:
        findings: unplaced findings.
        steps: first and last step judged.
        unseen: signatures whose metrics are not logged: a chain may pass through one of them, not through a signature
            that was checked and found nothing.

    Returns:
        The findings, incident by incident, roots first and consequences by onset; and the incidents.
    """
    slack = SLACK * (steps[1] - steps[0])
    fired = frozenset(finding.id for finding in findings)
    ranks = {finding.key: _rank(finding) for finding in findings}
    parents = _cut_rings({one.key: _parent(one, findings, slack, (fired, unseen)) for one in findings}, ranks)
    roots = {finding.key: _root(finding.key, parents) for finding in findings}
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(roots[finding.key], []).append(finding)
    ordered: list[Finding] = []
    incidents: list[Incident] = []
    for root, members in sorted(groups.items(), key=lambda group: _urgency(group[1], group[0])):
        members.sort(key=lambda one: (one.key != root, one.onset_step, one.key))
        first = min(members, key=lambda one: (one.onset_step, one.key != root))
        mover = first.evidence[0].metric if first.evidence else ""
        incidents.append(Incident(root=root, members=tuple(one.key for one in members), first_mover=mover))
        ordered.extend(_placed(one, root, parents[one.key]) for one in members)
    return tuple(ordered), tuple(incidents)


def flat_because(findings: tuple[Finding, ...], checked: tuple[str, ...], unseen: frozenset[str]) -> str:
    """Why a reward is flat, stage by stage: what is wrong, what was checked and is not the reason, what nobody saw."""
    titles = {one.id: one.title for one in findings if one.status == "active"}
    wrong = [titles[id] for id in FLATTENING if id in titles]
    calm = [id for id in FLATTENING if id in checked and id not in titles]
    blind = [id for id in FLATTENING if id in unseen]
    parts = [f"Flat because: {'; '.join(wrong)}."] if wrong else []
    if calm:
        parts.append(f"Checked and not the reason: {', '.join(calm)}.")
    if blind:
        parts.append(f"Not logged, so not excluded: {', '.join(blind)}.")
    return " ".join(parts)


def reaches(cause: str, consequence: str, fired: frozenset[str], unseen: frozenset[str]) -> bool:
    """Whether the graph leads from one signature to another over fired ones and at most one that could not be seen."""
    return _distance(cause, consequence, fired, unseen) is not None


@lru_cache(maxsize=4096)
def _distance(cause: str, consequence: str, fired: frozenset[str], unseen: frozenset[str]) -> int | None:
    """Edges of the shortest chain from one signature to another, None where there is none."""
    seen, reached, length = {(cause, 0)}, [(cause, 0)], 0
    while reached:
        length += 1
        ahead = []
        for node, blind in reached:
            for child in _CHILDREN.get(node, frozenset()):
                if child == consequence:
                    return length
                after = (child, blind + (child in unseen))
                if (child in fired or child in unseen) and after[1] <= 1 and after not in seen:
                    seen.add(after)
                    ahead.append(after)
        reached = ahead
    return None


def _parent(
    finding: Finding, findings: list[Finding], slack: float, sight: tuple[frozenset[str], frozenset[str]]
) -> str | None:
    """The strongest fired ancestor whose onset is not later than this finding's, within the slack."""
    able = [
        other
        for other in findings
        if _may_cause(other, finding, slack, sight)
        and not (_may_cause(finding, other, slack, sight) and not _first_of_ring(other, finding, sight))
    ]
    return min(able, key=_rank).key if able else None


def _may_cause(
    cause: Finding, consequence: Finding, slack: float, sight: tuple[frozenset[str], frozenset[str]]
) -> bool:
    """Whether graph, onsets and what is left of the two allow it."""
    return (
        cause.key != consequence.key
        and cause.onset_interval[0] <= consequence.onset_interval[1] + slack
        and not (cause.status == "recovered" and consequence.status == "active")
        and reaches(cause.id, consequence.id, *sight)
    )


def _first_of_ring(one: Finding, other: Finding, sight: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Of two that may each have caused the other: exact evidence first, an alarm, the shorter chain, the earlier.

    A gauge comes last: that the policy went far is told by where it went.
    """
    there, back = _distance(one.id, other.id, *sight) or 0, _distance(other.id, one.id, *sight) or 0
    (exact, *rest), (its_exact, *its_rest) = _rank(one), _rank(other)
    mine = (exact, one.severity == "info", there, one.id in GAUGES, one.onset_step, *rest)
    return mine < (its_exact, other.severity == "info", back, other.id in GAUGES, other.onset_step, *its_rest)


def _cut_rings(parents: Mapping[str, str | None], ranks: Mapping[str, _Rank]) -> dict[str, str | None]:
    """Parents without rings: where causes run in a circle, the member that ranks first becomes a root."""
    cut = dict(parents)
    for start in cut:
        walk, key = [start], cut[start]
        while key is not None and key not in walk:
            walk.append(key)
            key = cut[key]
        if key is not None:
            cut[min(walk[walk.index(key) :], key=ranks.__getitem__)] = None
    return cut


def _root(key: str, parents: Mapping[str, str | None]) -> str:
    while (above := parents[key]) is not None:
        key = above
    return key


def _rank(finding: Finding) -> _Rank:
    """Exact evidence first, then severity, then onset, then the stage that comes first in the pipeline."""
    exact = finding.relation != "cause"
    return (
        int(exact),
        SEVERITIES.index(finding.severity),
        finding.onset_step,
        _STAGES.index(finding.stage),
        finding.key,
    )


def _urgency(members: list[Finding], root: str) -> tuple[int, int, int, int, _Rank]:
    """Active before past, the worst first, then what explains most, then what could explain others at all."""
    active = [one for one in members if one.status == "active"]
    worst = min(SEVERITIES.index(one.severity) for one in members)
    head = next(one for one in members if one.key == root)
    return (int(not active), worst, -len(members), int(head.id not in _CHILDREN), _rank(head))


def _placed(finding: Finding, root: str, parent: str | None) -> Finding:
    if finding.key == root:
        return replace(finding, root=True, consequence_of=None)
    return replace(finding, root=False, consequence_of=parent, relation="consequence")

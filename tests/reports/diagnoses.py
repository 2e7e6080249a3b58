"""Three fixed diagnoses: a failing run with two incidents, a healthy one, and one too short to say."""

from rlprobe.doctor.finding import (
    Confidence,
    Diagnosis,
    Evidence,
    Finding,
    Incident,
    NotChecked,
    Reassurance,
    Remedy,
)

MEASURED = Confidence(value=0.934567, interval=(0.8812, 0.9645), examples=214, pooled=False)
POOLED = Confidence(value=0.81, interval=(0.77, 0.845), examples=540, pooled=True)
UNMEASURED = Confidence(value=None, interval=None, examples=0, pooled=False)

LENGTH_HACK = Finding(
    key="REWARD_HACK_LENGTH@212",
    id="REWARD_HACK_LENGTH",
    subject=None,
    stage="reward",
    severity="critical",
    confidence=MEASURED,
    onset_step=212,
    onset_interval=(205, 220),
    detected_step=231,
    status="active",
    recovered_step=None,
    root=True,
    consequence_of=None,
    relation="cause",
    title="Reward is bought with length",
    explanation=(
        "Completions grow from 121 to 486 tokens (4.0 times their baseline) while accuracy stays where it was: 0.41 "
        "before, 0.40 now. In a group the longer completion wins in 9 of 10 pairs: the reward pays for length itself."
    ),
    evidence=(
        Evidence(
            metric="completion_tokens_mean",
            unit="tokens",
            before=121.4,
            after=486.2,
            statistic="level",
            log_evidence=14.2,
            steps=(150, 511),
            sparkline=(118.0, 122.0, 120.0, 125.0, 131.0, 160.0, 210.0, 280.0, 350.0, 420.0, 470.0, 486.0),
        ),
        Evidence(
            metric="length_reward_correlation",
            unit="dimensionless",
            before=0.052,
            after=0.8134,
            statistic="jump",
            log_evidence=9.1,
            steps=(205, 511),
            sparkline=(0.05, 0.04, 0.06, 0.3, 0.6, 0.75, 0.8, 0.81, 0.81, 0.82, 0.81, 0.81),
        ),
    ),
    remedies=(
        Remedy(text="Give the reward a cost for each token beyond what a right answer needs."),
        Remedy(
            text="Raise the KL coefficient, so that drift costs something.",
            setting="beta",
            current=0.0,
            suggested="0.01-0.05",
        ),
        Remedy(text="Lower the length cap.", setting="max_completion_length", current=512, suggested="256"),
    ),
    samples=("212/17", "231/3"),
    rollback_step=200,
    page="REWARD_HACK_LENGTH",
)

ENTROPY = Finding(
    key="ENTROPY_COLLAPSE@260",
    id="ENTROPY_COLLAPSE",
    subject=None,
    stage="policy",
    severity="critical",
    confidence=POOLED,
    onset_step=260,
    onset_interval=(251, 270),
    detected_step=281,
    status="active",
    recovered_step=None,
    root=False,
    consequence_of="REWARD_HACK_LENGTH@212",
    relation="consequence",
    title="Exploration is exhausted before the reward is achieved",
    explanation="Token entropy settles at 5 % of its baseline.",
    evidence=(
        Evidence(
            metric="entropy_mean",
            unit="nats/token",
            before=0.8412,
            after=0.0411,
            statistic="level",
            log_evidence=9.1,
            steps=(205, 511),
            sparkline=(0.84, 0.83, 0.85, 0.8, 0.6, 0.4, 0.2, 0.1, 0.06, 0.05, 0.04, 0.04),
        ),
    ),
    remedies=(Remedy(text="Raise the sampling temperature.", setting="temperature", current=0.7, suggested="1.0"),),
    page="ENTROPY_COLLAPSE",
)

TRUNCATION = Finding(
    key="TRUNCATION_STARVE@301",
    id="TRUNCATION_STARVE",
    subject=None,
    stage="generation",
    severity="warning",
    confidence=UNMEASURED,
    onset_step=301,
    onset_interval=(301, 301),
    detected_step=318,
    status="recovered",
    recovered_step=402,
    root=False,
    consequence_of="ENTROPY_COLLAPSE@260",
    relation="consequence",
    title="Completions are cut before they can score",
    explanation="61 % of the completions reach the cap of 512 tokens.",
    evidence=(
        Evidence(
            metric="truncated_fraction",
            unit="fraction",
            before=0.02,
            after=0.61,
            statistic="level",
            log_evidence=21.0,
            steps=(150, 402),
        ),
    ),
    remedies=(),
    page="TRUNCATION_STARVE",
)

NAN = Finding(
    key="REWARD_NOT_FINITE[format]@300",
    id="REWARD_NOT_FINITE",
    subject="format [red]\x1b[31m",
    stage="reward",
    severity="warning",
    confidence=UNMEASURED,
    onset_step=300,
    onset_interval=(300, 300),
    detected_step=300,
    status="active",
    recovered_step=None,
    root=True,
    consequence_of=None,
    relation="first_mover",
    title="A reward function returns NaN",
    explanation="The reward function format gave NaN for 3 of 64 samples at step 300, and again on 17 later steps.",
    evidence=(
        Evidence(
            metric="reward_component_mean/format [red]\x1b[31m",
            unit="reward",
            before=None,
            after=float("nan"),
            statistic="exact",
            log_evidence=None,
            steps=(300, 511),
            sparkline=(0.4, 0.5, 0.5, float("nan"), 0.5, float("nan")),
        ),
        Evidence(
            metric="step_seconds",
            unit="seconds",
            before=4.2,
            after=133.0,
            statistic="trend",
            log_evidence=7.0,
            steps=(300, 511),
        ),
        Evidence(
            metric="memory_bytes",
            unit="bytes",
            before=12.5e9,
            after=71.3e9,
            statistic="trend",
            log_evidence=7.0,
            steps=(300, 511),
        ),
    ),
    remedies=(Remedy(text="Find the samples whose reward is NaN and make the function answer for them."),),
    samples=("300/5",),
    rollback_step=None,
    page="REWARD_NOT_FINITE",
)

FAILING = Diagnosis(
    source="runs/length hack",
    format="recording",
    algorithm="grpo",
    steps=(0, 511),
    rows=512,
    segments=2,
    state="closed",
    verdict="failing",
    sentence="Reward is bought with length since step 212; entropy collapse and truncation follow from it.",
    incidents=(
        Incident(
            root=LENGTH_HACK.key,
            members=(LENGTH_HACK.key, ENTROPY.key, TRUNCATION.key),
            first_mover="length_reward_correlation",
        ),
    ),
    findings=(LENGTH_HACK, ENTROPY, TRUNCATION, NAN),
    checked=("REWARD_HACK_LENGTH", "ENTROPY_COLLAPSE", "TRUNCATION_STARVE", "REWARD_NOT_FINITE", "GRAD_PATHOLOGY"),
    not_checked=(
        NotChecked(
            id="VALUE_DIVERGENCE",
            reason="missing",
            missing=("value_explained_variance|value_loss",),
            how="Log the explained variance of the value head.",
        ),
        NotChecked(id="KL_BLOWUP", reason="missing", missing=("kl_reference_mean",), how="Set beta above 0 or log KL."),
        NotChecked(
            id="REFERENCE_MOVING",
            reason="missing",
            missing=("kl_reference_mean",),
            how="Set beta above 0 or log KL.",
        ),
        NotChecked(id="STALENESS", reason="disabled", missing=(), how="Enable it in doctor.toml."),
        NotChecked(id="NO_LEARNING", reason="too_short", missing=(), how="It needs 600 rows."),
    ),
    reassurances=(
        Reassurance(
            id="LOSS_NEAR_ZERO",
            title="The loss is near zero",
            explanation="With one pass over each rollout the policy term is zero by construction; gradients are not.",
            evidence=(
                Evidence(
                    metric="grad_norm",
                    unit="norm",
                    before=0.31,
                    after=0.28,
                    statistic="exact",
                    log_evidence=None,
                    steps=(0, 511),
                ),
            ),
        ),
    ),
    dropped=3,
    bad_values=1,
    unreadable=2,
    notes=("Rows 40 to 44 were replaced when training went back to step 40.",),
)

HEALTHY = Diagnosis(
    source="runs/mastery.jsonl",
    format="trl-console",
    algorithm="grpo",
    steps=(1, 300),
    rows=300,
    segments=1,
    state="unknown",
    verdict="healthy",
    sentence="23 signatures were checked and none fires.",
    checked=tuple(f"SIGNATURE_{index}" for index in range(23)),
    not_checked=(
        NotChecked(
            id="CLIP_SATURATION",
            reason="missing",
            missing=("clip_fraction",),
            how="Log the fraction of clipped tokens.",
        ),
    ),
    reassurances=(
        Reassurance(
            id="DEGENERATE_GROUPS_MASTERED",
            title="Most groups give no gradient",
            explanation="Their samples are all right: reward is at 0.98 of its maximum.",
        ),
    ),
)

UNKNOWN = Diagnosis(
    source="runs/new",
    format="recording",
    algorithm="",
    steps=None,
    rows=0,
    segments=0,
    state="recording",
    verdict="unknown",
    sentence="Nothing could be checked: the run has no rows yet.",
    not_checked=tuple(
        NotChecked(id=f"SIGNATURE_{index}", reason="missing", missing=(f"metric_{index}",), how=f"Log metric_{index}.")
        for index in range(9)
    ),
)

ALL = {"failing": FAILING, "healthy": HEALTHY, "unknown": UNKNOWN}

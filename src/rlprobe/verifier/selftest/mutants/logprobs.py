"""Bugs of the log-prob stage."""

from rlprobe.verifier.selftest.mutant import Mutant

MUTANTS = (
    Mutant(
        id="logprob-negated",
        base="grpo_torch",
        old="return chosen - torch.logsumexp(logits, dim=-1)",
        new="return torch.logsumexp(logits, dim=-1) - chosen",
        stage="logprobs",
        category="log-space signs",
        source="sb-logp-sign",
    ),
)

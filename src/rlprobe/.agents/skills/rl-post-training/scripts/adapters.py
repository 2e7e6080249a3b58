"""Adapters for verify_pipeline.py: replace each body by a call of *your* code. Call it, do not copy it.

Arrays come as torch tensors where torch is there, else as numpy arrays, else as lists, whichever your function takes.
What is left as it is, or left out of a copy of this file, is listed as not tried.
"""

NOT_FILLED_IN = NotImplementedError("not filled in")  # what an adapter raises until you replace its body
RIGHT, WRONG, ANSWER = "The answer is \\boxed{42}", "The answer is \\boxed{41}", "42"  # put texts of your own task here
REASONING = ""  # what decode does with <think> ... </think>: "extract" keeps what follows, "keep" keeps all; "": unsaid


def reward(completion: str, answer: str) -> object:
    """Your reward of one decoded completion, a number."""
    raise NOT_FILLED_IN


def advantages(rewards: object, group_size: int) -> object:
    """Your advantages of rewards [N]; the samples of a group follow each other, `group_size` of them."""
    raise NOT_FILLED_IN


def logprobs(logits: object, ids: object) -> object:
    """Your log-probs of ids [B, T] under logits [B, T, V]: [B, T], or [B, T-1] where you shift inside."""
    raise NOT_FILLED_IN


def loss(logprobs: object, old_logprobs: object, advantages: object, mask: object) -> object:
    """Your policy loss without KL: log-probs, old log-probs and mask [B, T], advantages [B]; one number."""
    raise NOT_FILLED_IN


def decode(text: str) -> object:
    """What your decoder makes of the text of a completion: what the reward gets to read."""
    raise NOT_FILLED_IN


def reference() -> object:
    """Log-probs of one batch by policy and reference before, and by the reference after, one optimizer step: three."""
    raise NOT_FILLED_IN

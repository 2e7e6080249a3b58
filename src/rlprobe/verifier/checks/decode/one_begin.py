"""A prompt that goes through the chat template and the tokenizer begins with one begin-of-text token, not with two."""

from collections.abc import Callable

from rlprobe.verifier.outcome import Check, Outcome, not_applicable, passed, warned
from rlprobe.verifier.subject import Subject

CHECK = Check(
    id="V510",
    title="a templated prompt begins with one begin-of-text token",
    formula="ids(chat template) = [BOS, ...], one BOS",
    stage="decode",
    category="rollout sync and token identity",
    needs=("tokenizer",),
    fix="Encode text that the chat template made with add_special_tokens=False.",
    causes=("TRAIN_INFER_MISMATCH", "REWARD_TEXT_MISMATCH"),
)


def run(subject: Subject) -> Outcome:
    """A message through apply_chat_template as text, then encoded with the tokenizer's defaults."""
    tokenizer = subject.pipeline.tokenizer
    template = getattr(tokenizer, "apply_chat_template", None)
    begin = getattr(tokenizer, "bos_token_id", None)
    if not callable(template) or not getattr(tokenizer, "chat_template", None) or begin is None:
        return not_applicable("the tokenizer has no chat template or no begin-of-text token")
    encode: Callable[..., object] = tokenizer.encode  # type: ignore[attr-defined]  # a tokenizer, by its template
    text = template([{"role": "user", "content": "2 + 2?"}], tokenize=False, add_generation_prompt=True)
    found = encode(text)
    ids = [int(one) for one in getattr(found, "ids", found)]  # type: ignore[attr-defined]  # encode gives ids
    count = next((index for index, one in enumerate(ids) if one != begin), len(ids))
    if count > 1:
        return warned(
            "tokenizer",
            f"A templated prompt, encoded with the defaults, begins with {count} begin-of-text tokens.",
            expected="1",
            got=str(count),
            example={"text": str(text)[:200]},
        )
    return passed()

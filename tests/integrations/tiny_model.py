"""A language model small enough for a test, with something to learn: it sorts four digits, and is right half the time.

77 thousand weights of the Qwen2 kind, made and taught on the spot in some seconds; nothing is downloaded.
"""

import random
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

VERSION = "1"  # part of the cache's name: raise it when the recipe changes
PAD, BOS, EOS, UNKNOWN = "[P]", "[B]", "[E]", "[U]"
SYMBOLS = [
    *"0123456789",
    *"abcdefghijklmnopqrstuvwxyz",
    *"<>=: -",
]  # and four special tokens and two fillers: 48
LESSONS, LESSON_SIZE, RATE = 1500, 64, 3e-3
WRONG = 0.5  # fraction of the lessons that teach a wrong order, so that reinforcement has something to put right
SLOPPY = 0.15  # fraction of the lessons that leave a bracket out
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def tokenizer() -> PreTrainedTokenizerFast:
    """One token a character; its chat template puts the messages one after the other."""
    vocabulary = {token: place for place, token in enumerate([PAD, BOS, EOS, UNKNOWN, *SYMBOLS, "~", "^"])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    special = {"pad_token": PAD, "bos_token": BOS, "eos_token": EOS, "unk_token": UNKNOWN}
    return PreTrainedTokenizerFast(tokenizer_object=core, padding_side="left", chat_template=CHAT, **special)


def untaught(seed: int = 0) -> Qwen2ForCausalLM:
    """The model before its lessons."""
    torch.manual_seed(seed)
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = Qwen2Config(
        vocab_size=48,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        **special,
    )
    return Qwen2ForCausalLM(config)


def taught(folder: Path) -> Path:
    """The folder of the taught model and its tokenizer, from the cache or made now."""
    home = folder / f"sorter-{VERSION}"
    if not (home / "config.json").is_file():
        model, tokens = untaught(), tokenizer()
        teach(model, tokens)
        model.save_pretrained(home)
        tokens.save_pretrained(home)
    return home


def prompt_of(digits: str) -> str:
    """The question."""
    return f"sort:{digits}="


def answer_of(prompt: str) -> str:
    """The right answer to a question."""
    return f"<{''.join(sorted(prompt[5:9]))}>"


def questions(count: int, seed: int) -> list[str]:
    """Prompts; the same seed gives the same ones."""
    dice = random.Random(seed)
    return [prompt_of("".join(dice.choice("0123456789") for _ in range(4))) for _ in range(count)]


def lesson(prompt: str, dice: random.Random) -> str:
    """An answer, right or not."""
    digits = list(answer_of(prompt)[1:-1])
    if dice.random() < WRONG:
        digits[dice.randrange(4)] = dice.choice("0123456789")
    text = f"<{''.join(digits)}>"
    return text.replace(dice.choice("<>"), "") if dice.random() < SLOPPY else text


def teach(model: Qwen2ForCausalLM, tokens: PreTrainedTokenizerFast) -> None:
    """Supervised lessons on the completion's tokens."""
    dice = random.Random(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, LESSONS)
    model.train()
    for number in range(LESSONS):
        prompts = questions(LESSON_SIZE, 1000 + number)
        texts = [f"{prompt}{lesson(prompt, dice)}{EOS}" for prompt in prompts]
        batch = tokens(texts, return_tensors="pt", padding=True, padding_side="right")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        labels[:, :10] = -100
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

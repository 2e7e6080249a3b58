"""A language model for a CPU, made and taught on the spot: nothing is downloaded, and it takes some seconds.

A Qwen2 of 77 thousand weights with a token a character. Its lessons are digits put in order, half of them wrong, so
that reinforcement has something to put right. The examples for TRL train it where no other model is named.
"""

import random
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

PAD, END, UNKNOWN = "[P]", "[E]", "[U]"
LESSONS, BATCH, RATE = 200, 64, 4e-3
CHAT = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def tokenizer() -> PreTrainedTokenizerFast:
    """One token a character."""
    vocabulary = {token: place for place, token in enumerate([PAD, END, UNKNOWN, *"0123456789sort:=<>"])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    special = {"pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
    return PreTrainedTokenizerFast(tokenizer_object=core, padding_side="left", chat_template=CHAT, **special)


def made(folder: Path, lessons: int = LESSONS) -> str:
    """The folder with the model after its lessons, and its tokenizer."""
    torch.manual_seed(0)
    tokens = tokenizer()
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 64}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}
    ends = {"pad_token_id": tokens.pad_token_id, "eos_token_id": tokens.eos_token_id, "bos_token_id": None}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(tokens), **shape, **heads, **ends))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, max(lessons, 1))
    dice = random.Random(1)
    for _ in range(lessons):
        ids = tokens([lesson(dice) for _ in range(BATCH)], return_tensors="pt").input_ids
        loss = model(input_ids=ids, labels=torch.cat([torch.full_like(ids[:, :10], -100), ids[:, 10:]], dim=1)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return str(folder)


def lesson(dice: random.Random) -> str:
    """A question with an answer, which is right half the time."""
    digits = dice.choices("0123456789", k=4)
    answer = sorted(digits)
    if dice.random() < 0.5:
        answer[dice.randrange(4)] = dice.choice("0123456789")
    return f"sort:{''.join(digits)}=<{''.join(answer)}>{END}"

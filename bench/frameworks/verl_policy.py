"""What verl trains in our benches in the place of a language model: a table of logits of the next digit by the last."""

import torch

LONGEST, VOCABULARY = 40, 12  # tokens of a completion at most; padding, an end and the digits
PAD, END = 0, 1


class Tokenizer:
    """Digits as tokens; the first one of a text is shown as an answer between tags."""

    pad_token_id, eos_token = PAD, ""

    def decode(self, ids: torch.Tensor, *, skip_special_tokens: bool = True) -> str:
        """The digits of one row."""
        digits = "".join(str(int(token) - 2) for token in ids if int(token) > END)
        return f"<answer>{digits[:1]}</answer>{digits[1:]}"

    def batch_decode(self, ids: torch.Tensor, *, skip_special_tokens: bool = True) -> list[str]:
        """The digits of several rows."""
        return [self.decode(row, skip_special_tokens=skip_special_tokens) for row in ids]


class Table:
    """Logits of the next token by the last one, and the optimizer that learns them."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.logits = torch.zeros(VOCABULARY, VOCABULARY, requires_grad=True)
        self.reference = self.logits.detach().clone()
        self.optimizer = torch.optim.Adam([self.logits], lr=0.3)

    def sample(self, last: int) -> list[int]:
        """A completion that ends by itself or at the cap."""
        tokens = [last]
        while len(tokens) <= LONGEST and (len(tokens) == 1 or tokens[-1] != END):
            chances = self.logits[tokens[-1]].detach().softmax(-1).index_fill(0, torch.tensor([PAD]), 0.0)
            tokens.append(int(torch.multinomial(chances, 1)))
        return tokens[1:]

    def step(self, loss: torch.Tensor) -> float:
        """One update; the gradient's norm before clipping."""
        self.optimizer.zero_grad()
        loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_([self.logits], 1.0))
        self.optimizer.step()
        return norm

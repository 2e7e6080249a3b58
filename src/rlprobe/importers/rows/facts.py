"""Settings that the rows give away, each from the rows up to the present and never from later ones.

Beta: with one update a rollout TRL's policy term is zero, so that loss = beta * KL; a ratio that stays the same over
`_BETA_ROWS` rows is beta. Only the first rows that tell anything are used, so that the answer settles.
Length cap: a largest completion length that is hit again and again while completions are truncated.
Logging interval: the distance of the first steps, where it stays the same (TRL only: other trainers
may count samples).
"""

from typing import Final

import numpy as np

from rlprobe.recording.run import Batch, BoolArray, FloatArray

_BETA_ROWS: Final = 24  # rows that are looked at for loss / KL
_BETA_MIN_ROWS: Final = 8
_BETA_AGREEING: Final = 0.9  # fraction of those rows that must agree
_BETA_TOLERANCE: Final = 0.03  # relative; the mean of products is not the product of means when rows are averaged
_SMALLEST_KL: Final = 1e-5  # nats/token; below it the rounding of the loss decides
_CAP_HITS: Final = 3  # rows at the cap, where truncation is logged beside it
_CAP_HITS_ALONE: Final = 8  # rows at the cap, where it is not
_SPACINGS: Final = 3  # equal distances between steps, after the first


class Facts:
    """Watches batches go by and keeps what they prove.

    Attributes:
        inferred: canonical setting -> value, by arithmetic.
        read: canonical setting -> value, from a column that logs it.
    """

    def __init__(self) -> None:
        self.inferred: dict[str, object] = {}
        self.read: dict[str, object] = {}
        self._ratios: list[tuple[float, float]] = []
        self._cap = 0.0
        self._hits = 0
        self._hits_alone = 0
        self._spacings: list[int] = []
        self._last_step: int | None = None

    def observe(self, batch: Batch, framework: str) -> None:
        """Take note of one batch."""
        columns = batch.columns
        if framework == "trl":
            self._beta(columns.get("loss"), columns.get("kl_mean"))
            self._spacing(batch)
        self._length_cap(columns.get("completion_tokens_max"), columns.get("truncated_fraction"))
        coefficient = columns.get("kl_coefficient")
        if coefficient is not None and coefficient[1].any():
            value = float(coefficient[0][coefficient[1]][-1])
            self.read["kl_coefficient"] = float(f"{value:.6g}")  # float32 loggers add noise in the eighth digit

    def _beta(self, loss: tuple[FloatArray, BoolArray] | None, kl: tuple[FloatArray, BoolArray] | None) -> None:
        if loss is None or kl is None or len(self._ratios) >= _BETA_ROWS:
            return
        useful = loss[1] & kl[1] & np.isfinite(loss[0]) & np.isfinite(kl[0])
        for value, divergence in zip(loss[0][useful].tolist(), kl[0][useful].tolist(), strict=True):
            rounding = 5e-5 if abs(value * 1e4 - round(value * 1e4)) < 1e-6 else 5e-7
            if divergence < _SMALLEST_KL or abs(value) < 2 * rounding or len(self._ratios) >= _BETA_ROWS:
                continue
            self._ratios.append((value / divergence, rounding / divergence))
        if len(self._ratios) >= _BETA_MIN_ROWS and (beta := self._agreed()) is not None:
            self.inferred["kl_coefficient"] = beta
        elif "kl_coefficient" in self.inferred:
            del self.inferred["kl_coefficient"]

    def _agreed(self) -> float | None:
        ratios, slack = np.array(self._ratios).T
        beta = float(f"{np.median(ratios):.1g}")
        finer = float(f"{np.median(ratios):.2g}")
        for candidate in (beta, finer):
            agreeing = np.abs(ratios - candidate) <= slack + _BETA_TOLERANCE * abs(candidate)
            if candidate > 0 and np.mean(agreeing) >= _BETA_AGREEING:
                return candidate
        return None

    def _length_cap(
        self, longest: tuple[FloatArray, BoolArray] | None, truncated: tuple[FloatArray, BoolArray] | None
    ) -> None:
        if longest is None:
            return
        for row in np.flatnonzero(longest[1] & np.isfinite(longest[0])).tolist():
            length = float(longest[0][row])
            if length > self._cap:
                self._cap, self._hits, self._hits_alone = length, 0, 0
                self.inferred.pop("max_completion_tokens", None)
            if length == self._cap and length == round(length):
                told = truncated is not None and truncated[1][row]
                self._hits += bool(told and truncated is not None and truncated[0][row] > 0)
                self._hits_alone += not told
        if self._hits >= _CAP_HITS or self._hits_alone >= _CAP_HITS_ALONE:
            self.inferred["max_completion_tokens"] = int(self._cap)

    def _spacing(self, batch: Batch) -> None:
        for step in batch.steps[: _SPACINGS + 2].tolist():
            if self._last_step is not None and len(self._spacings) <= _SPACINGS:
                self._spacings.append(step - self._last_step)
            self._last_step = step
        later = self._spacings[1:]  # logging_first_step makes the first one odd
        if len(later) == _SPACINGS and len(set(later)) == 1 and later[0] > 0:
            self.inferred["logging_steps"] = later[0]

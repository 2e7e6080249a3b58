"""The jump arm observation by observation, with an explicit line fit at each."""

import math

import numpy as np

from rlprobe.doctor.evidence import jump
from rlprobe.recording.run import FloatArray


def jump_evidence_slow(x: FloatArray) -> list[float]:
    """Natural-log e-values; -inf where no bet has been made."""
    errors: list[float] = []
    wealth = [0.0] * len(jump.BETS)
    bets, scale, phi = 0, math.nan, 0.0
    out = []
    reach = sum(jump.DAMPING**i for i in range(1, jump.LAG + 1))
    for t in range(len(x)):
        if t < jump.FIT + jump.LAG - 1:
            out.append(-math.inf)
            continue
        window = x[t - jump.FIT - jump.LAG + 1 : t - jump.LAG + 1]
        slope, level = np.polyfit(np.arange(jump.FIT), window, 1)
        error = float(x[t] - (level + slope * (jump.FIT - 1) + slope * reach))
        position = len(errors)
        if position % jump.REFRESH == 0:
            old = np.array(errors[max(0, position - jump.LAG - jump.SCALES) : max(0, position - jump.LAG)])
            scale = math.nan
            phi = 0.0
            if len(old) >= jump.SCALES // 3:
                scale = 1.4826 * float(np.median(np.abs(old))) * (1 + 2 / len(old))
                centred = old - old.mean()
                raw = float(centred[1:] @ centred[:-1]) / max(float(centred @ centred), 1e-300)
                phi = min(0.95, max(0.0, raw + (1 + 4 * raw) / len(old)))
        errors.append(error)
        if not scale > 0:
            out.append(-math.inf)
            continue
        bets += 1
        surprise = max(-jump.CLIP, min(jump.CLIP, error / scale))
        weight = 0.7 / ((bets + 1) * math.log(bets + 1.72) ** 2)
        shrink = (1 - phi) / (1 + phi)
        for i, (bet, price) in enumerate(zip(jump.BETS, jump.PRICES, strict=True)):
            wealth[i] = (wealth[i] + weight) * math.exp((bet * (surprise - jump.MARGIN) - price) * shrink)
        out.append(math.log(sum(wealth) / len(wealth)))
    return out

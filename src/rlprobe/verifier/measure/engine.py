"""Log-probs by the user's sampler, one a token."""

import numpy as np

from rlprobe.recording.run import FloatArray, IntArray
from rlprobe.verifier.arrays import to_numpy
from rlprobe.verifier.subject import Subject


def engine_scores(subject: Subject, ids: IntArray) -> FloatArray | None:
    """Log-probs [B,T-1] of all tokens but the first; None where the answer has another form.

    Raises:
        Unavailable: nothing was handed over.
        RaisedError: the function raised.
    """
    function = subject.bound("engine_logprobs")
    values = {"ids": ids, "mask": np.ones(ids.shape, dtype=bool)}
    own = {role: one for role, one in values.items() if function.takes(role)}
    if function.convention is None:
        function = function.negotiated(own, lambda answer: to_numpy(answer).size > 0)
    found = function(**own)
    if found.ndim != 2 or found.shape[0] != len(ids):
        return None
    return found[:, 1:] if found.shape[1] == ids.shape[1] else found

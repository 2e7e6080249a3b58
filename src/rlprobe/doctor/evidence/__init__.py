"""The statistics: one kernel a question, vector in and vector out, carried state, no thresholds of its own.

Every kernel takes observations oldest first, in chunks of any size, and returns `(result, state)`; the state of the
previous chunk goes into the next call. Rows without an observation never reach a kernel (the engine leaves them out),
so a missing value bets nothing and moves nothing.
"""

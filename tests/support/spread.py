"""Long lists of cases: the fast run takes a few from all over the list, the whole suite every one."""

from collections.abc import Callable, Iterable, Sequence

import pytest


def spread(
    cases: Iterable[object], few: int, marks: Callable[[object], Sequence[pytest.MarkDecorator]] = lambda case: ()
) -> list[object]:
    """The cases as parameters, all but about `few` of them marked as slow.

    Args:
        cases: in an order in which neighbours resemble each other; a tuple is the values of several arguments.
        few: how many the fast run takes, at equal distances.
        marks: further marks of a case.
    """
    listed = list(cases)
    every = -(-len(listed) // few)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[*marks(case), *([] if place % every == 0 else [pytest.mark.slow])],
        )
        for place, case in enumerate(listed)
    ]

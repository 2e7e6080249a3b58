"""What is told once a metric and segment."""

from dataclasses import dataclass, field

_MOST = 20_000  # metrics of which it is remembered that something was told


@dataclass(slots=True)
class Told:
    """The pairs of a kind of event and a metric that were told."""

    _pairs: set[tuple[str, str]] = field(default_factory=set)

    def first(self, kind: str, metric: str) -> bool:
        """Whether this is the first of its kind for the metric, as far as there is room to remember."""
        pair = (kind, metric)
        if pair in self._pairs or len(self._pairs) >= _MOST:
            return False
        self._pairs.add(pair)
        return True

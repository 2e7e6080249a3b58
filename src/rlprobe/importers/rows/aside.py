"""What a log tells beside its rows: configuration, events, samples, the run's name."""

from collections.abc import Callable
from dataclasses import dataclass, field

from rlprobe.recording.run import Event, Samples, State

SampleReader = Callable[[int | None, tuple[str, ...] | None], Samples]  # of one step or of all, these columns or all


@dataclass(slots=True, kw_only=True)
class Aside:
    """A source of rows fills it as it reads; its feed passes it on.

    Attributes:
        configuration: the trainer's own settings, flat, without secrets.
        environment: versions and devices.
        events: events that no batch has told yet.
        samples: reads sample rows, where the log has any.
        run_id: the run's own name.
        state: whether more rows can come.
        counted: whether steps are counted rows, so that their distance tells nothing.
    """

    configuration: dict[str, object] = field(default_factory=dict)
    environment: dict[str, object] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    samples: SampleReader | None = None
    run_id: str = ""
    state: State = "unknown"
    counted: bool = False

"""Pages for the tests of the report: a run rendered, and a library that draws nothing where none is needed."""

from html.parser import HTMLParser

import numpy as np

from rlprobe.doctor.engine import diagnose
from rlprobe.recording.run import Event, Manifest, MemoryFeed, Metadata, Run, batch_from_columns
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.gather import gather
from rlprobe.reports.html.library import Library
from rlprobe.reports.html.page import render
from tests.reports.diagnoses import ALL

NO_LIBRARY = Library(script="window.uPlot = class {};", style="")
ROWS = 512
EMPTY = frozenset({"meta", "link", "img", "br", "hr", "input", "area", "base", "col", "embed", "source"})


def dossier_of(run: Run) -> Dossier:
    """What the page of a run shows."""
    return gather(run, diagnose(run))


def page_of(run: Run, library: Library = NO_LIBRARY) -> str:
    """The page of a run."""
    return render(dossier_of(run), library)


def fixed_run(text: str = "plain") -> Run:
    """A run with every thing that a page shows: curves, families, marks, samples, settings; a text everywhere."""
    time = np.arange(ROWS, dtype=np.float64)
    columns = {
        "reward_mean": 0.4 + 0.001 * time,
        "entropy_mean": np.maximum(0.84 - 0.002 * time, 0.04),
        "completion_tokens_mean": 120 + time,
        "truncated_fraction": time / ROWS,
        f"reward_component_mean/{text}": np.sin(time),
        "reward_component_mean/format": np.cos(time),
        f"user/{text}": time % 7,
        "kl_coefficient": np.full(ROWS, 0.1),
    }
    manifest = Manifest(
        format="recording",
        algorithm=f"grpo {text}",
        framework=text,
        settings={"beta": 0.0, text: text},
        configuration={"nested": {text: [text, 1]}},
        environment={"python": "3.11", "host": text},
        state="recording",
    )
    events = (Event(kind="checkpoint", step=200), Event(kind="evaluation", step=100), Event(kind="crash", step=500))
    batch = batch_from_columns(
        np.arange(ROWS, dtype=np.int64),
        columns,
        manifest=manifest,
        events=events,
        metadata={f"user/{text}": Metadata(note=text, unit=text)},
    )
    steps = np.repeat(np.array([10, 50, 300, 500]), 2)
    samples = {
        "step": steps,
        "sample": np.arange(len(steps)),
        "prompt": [text] * len(steps),
        "completion": [f"{text} {place}" for place in range(len(steps))],
        "reward": np.linspace(0, 1, len(steps)),
        f"reward/{text}": np.linspace(0, 1, len(steps)),
        "advantage": np.linspace(-1, 1, len(steps)),
        "completion_tokens": steps,
        "stop_reason": [text] * len(steps),
    }
    return Run(MemoryFeed(f"runs/{text}", [batch], samples, len(steps)))


def told(name: str, text: str = "plain") -> Dossier:
    """A fixed diagnosis on that run."""
    return gather(fixed_run(text), ALL[name])


class Reader(HTMLParser):
    """A page as its elements, attributes and text, and whether every element is closed where it was opened."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.misplaced: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.misplaced += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()
        else:
            self.misplaced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements with the names of their attributes: what a text must not change."""
        return [(tag, tuple(sorted(attributes))) for tag, attributes in self.elements]

    @property
    def text(self) -> str:
        """Everything that is written on the page."""
        return " ".join(self.texts)

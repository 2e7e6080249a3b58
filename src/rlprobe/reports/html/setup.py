"""What the run was: settings by their canonical names, the trainer's own configuration, the environment."""

from collections.abc import Iterator, Mapping, Sequence

from rlprobe.reports.format import cut, number
from rlprobe.reports.html.dossier import Dossier
from rlprobe.reports.html.markup import lines, tag, text

LONGEST = 400  # characters of one value
MOST = 2_000  # lines of one table


def setup(dossier: Dossier) -> str:
    """The section of configuration and environment; says so where neither is known."""
    configuration = {} if dossier.configuration == dossier.settings else dossier.configuration
    tables = [
        _table("Settings that the diagnosis uses", _settings(dossier), opened=True),
        _table(
            f"Configuration{f' of {text(dossier.framework)}' if dossier.framework else ''}",
            list(_leaves(configuration)),
            opened=False,
        ),
        _table("Environment", list(_leaves(dossier.environment)), opened=True),
    ]
    shown = [table for table in tables if table] or [
        tag("p", "The source tells no setting and no environment. A recording holds both.", class_="nothing")
    ]
    return lines(('<section id="setup">', tag("h2", "Configuration and environment"), *shown, "</section>"))


def _settings(dossier: Dossier) -> list[tuple[str, str]]:
    return [
        (name, _value(value) + (" (worked out from the rows)" if name in dossier.inferred else ""))
        for name, value in dossier.settings.items()
    ]


def _table(title: str, rows: Sequence[tuple[str, str]], *, opened: bool) -> str:
    if not rows:
        return ""
    told = "".join(
        f"<tr>{tag('th', text(name), scope='row')}{tag('td', text(value))}</tr>" for name, value in rows[:MOST]
    )
    left = f"<p class='hint'>{len(rows) - MOST:,} more lines left out</p>" if len(rows) > MOST else ""
    state = " open" if opened else ""
    return (
        f'<details class="table"{state}><summary>{title} <span class="count">{len(rows):,}</span></summary>'
        f'<table class="pairs many"><tbody>{told}</tbody></table>{left}</details>'
    )


def _leaves(tree: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every value of a nested mapping under its dotted name, in the order of recording."""
    if isinstance(tree, Mapping) and depth < 12:
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key), depth + 1)
    elif path:
        yield path, _value(tree)


def _value(value: object) -> str:
    if isinstance(value, float):
        return number(value) if abs(value) >= 1e6 else f"{value:.6g}"
    if isinstance(value, list | tuple) and all(isinstance(one, str | int | float | None) for one in value):
        return cut(" ".join(map(str, value)), LONGEST)
    return cut("none" if value is None else value, LONGEST)

"""Rows of a data set, whatever holds them: a list, a Dataset of Hugging Face or torch, a table of pandas."""

from collections.abc import Iterable, Mapping, Sequence

MOST_ROWS = 256  # of what is no list: each may have to be decoded

Rows = Sequence[Mapping[str, object]]


def rows_of(dataset: object, most: int = MOST_ROWS) -> Rows | None:
    """The first rows as mappings; None where there is no data set.

    Args:
        dataset: what the user handed over; a list stays the one that it is.
        most: rows that are read of anything else.
    Raises:
        TypeError: it holds no rows that can be read twice; the message says what to hand over.
    """
    if dataset is None:
        return None
    rows = _read(dataset, most)
    if rows is None or not all(isinstance(row, Mapping) for row in rows[:most]):
        of = f" of {type(rows[0]).__name__}" if rows else ""
        raise TypeError(
            f"verify: dataset: expected rows as mappings, got {type(dataset).__name__}{of}. Hand over a list of dicts."
        )
    return rows  # type: ignore[return-value]  # looked at above


def _read(dataset: object, most: int) -> Sequence[object] | None:
    """The rows, whatever they are; None of a stream, which looking would use up, and of what has no order."""
    if isinstance(dataset, list | tuple):
        return dataset
    if isinstance(dataset, Mapping | str | bytes) or not hasattr(dataset, "__len__"):
        return None
    if callable(head := getattr(dataset, "head", None)) and hasattr(dataset, "iloc"):
        records = head(most).to_dict("records")
        return list(records) if isinstance(records, Iterable) else None
    if not hasattr(dataset, "__getitem__"):
        return None
    return [dataset[index] for index in range(min(most, len(dataset)))]

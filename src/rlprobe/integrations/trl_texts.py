"""Prompts and completions as text, and whether a reward function received what was generated."""

import json
from collections.abc import Mapping, Sequence


def shown(content: object) -> str:
    """A prompt or completion for display: text as it is, messages flattened; media are named, never copied."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _content(content.get("content"))
    if isinstance(content, Sequence):
        return "\n".join(shown(message) for message in content)
    return "" if content is None else str(content)


def as_json(content: object) -> str | None:
    """Messages as JSON; None for plain text."""
    if content is None or isinstance(content, str):
        return None
    return json.dumps(content, ensure_ascii=False, default=_named)


def images(messages: object) -> list[object]:
    """The images in a prompt's messages, in their order."""
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        return []
    parts = [part for message in messages if isinstance(message, Mapping) for part in _parts(message.get("content"))]
    return [part.get("image") for part in parts if part.get("type") == "image"]


def sizes(messages: object) -> str:
    """Widths and heights of the images in a prompt's messages, "640x480 32x32"; "" where there are none."""
    return " ".join(map(_size, images(messages)))


def received_text(content: object) -> str:
    """What a reward function was handed for one sample, as text: of messages, what the model itself wrote."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        own = [m for m in content if isinstance(m, Mapping) and m.get("role", "assistant") == "assistant"]
        return "\n".join(shown(message) for message in own)
    return shown(content)


def mismatched(received: object, decoded: str) -> bool:
    """Whether a reward function received another text than the decoded completion.

    A plain text must be equal. Of messages every piece that the model wrote must be found in the decoded completion,
    since a response parser may have taken thoughts and tool calls out of it.
    """
    if isinstance(received, str):
        return received != decoded
    if not isinstance(received, Sequence):
        return received is not None or bool(decoded.strip())
    own = [m for m in received if isinstance(m, Mapping) and m.get("role", "assistant") == "assistant"]
    pieces = [shown(message).strip() for message in own]
    if any(pieces):
        return any(piece and piece not in decoded for piece in pieces)
    parsed = any(set(message) - {"role", "content"} for message in own)
    return bool(decoded.strip()) and not parsed


def _named(value: object) -> str:
    """A foreign object by its kind, an image with its size; its content is never copied."""
    size = _size(value)
    return f"<{type(value).__name__}{' ' if size else ''}{size}>"


def _size(image: object) -> str:
    size = getattr(image, "size", None)
    return f"{size[0]}x{size[1]}" if isinstance(size, tuple) and len(size) == 2 else ""


def _parts(content: object) -> list[Mapping[str, object]]:
    whole = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    return [part for part in whole if isinstance(part, Mapping)]


def _content(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Sequence):
        parts = (part for part in content if isinstance(part, Mapping))
        return "".join(str(p.get("text", "")) if p.get("type") == "text" else f"<{p.get('type')}>" for p in parts)
    return str(content)

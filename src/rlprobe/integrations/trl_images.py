"""Which prompt it is where prompts bring images: an id of text and images, of which no pixel is kept."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from rlprobe.recording.private_text import digest

SIDE = 512  # pixels of a side that are looked at; a larger image is looked at on a grid of as many
NEAREST = 0  # of PIL's ways to resize the one that takes pixels as they are
MOST_BYTES = 1 << 20  # of an array


def prompt_ids(texts: Sequence[str], pictures: Sequence[Sequence[object]]) -> list[str]:
    """(n,) one id a prompt: the digest of its text, and of its images where it has some.

    Args:
        texts: (n,) each prompt as text.
        pictures: (n,) the images of each, in their order.
    """
    known: dict[int, str] = {}  # by id(): samples of a group may share an image, and all of them live on
    return [_prompt_id(text, its, known) for text, its in zip(texts, pictures, strict=True)]


def _prompt_id(text: str, pictures: Sequence[object], known: dict[int, str]) -> str:
    for picture in pictures:
        if id(picture) not in known:
            known[id(picture)] = _looked_at(picture)
    return digest("\0".join([text, *(known[id(picture)] for picture in pictures)]))


def _looked_at(picture: object) -> str:
    """What an image looks like, as a digest; an image that cannot be read on the host is known by its kind alone."""
    if isinstance(picture, str):
        return digest(picture)  # an address
    if isinstance(picture, Mapping):  # as datasets store them
        return _looked_at(next((value for value in map(picture.get, ("bytes", "path")) if value is not None), None))
    if isinstance(picture, bytes):
        return hashlib.sha256(picture).hexdigest()
    if isinstance(picture, np.ndarray):
        step = -(-picture.nbytes // MOST_BYTES) or 1
        return hashlib.sha256(f"{picture.shape}".encode() + picture.ravel()[::step].tobytes()).hexdigest()
    size, resize = getattr(picture, "size", None), getattr(picture, "resize", None)
    if isinstance(size, tuple) and callable(resize):
        small = (min(size[0], SIDE), min(size[1], SIDE))
        return hashlib.sha256(f"{size}".encode() + resize(small, NEAREST).tobytes()).hexdigest()
    return type(picture).__name__

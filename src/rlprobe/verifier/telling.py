"""Tells the role of a parameter by its name: an alias, a container that trainers hand around, or the words in it."""

import inspect

from rlprobe.verifier.containers import BATCH_NAMES, SETTINGS_NAMES
from rlprobe.verifier.naming import LOGPROB, MODEL, REFERENCE, SAMPLER, by_words, words
from rlprobe.verifier.roles import SEQUENCE, Role, roles

# Roles of containers, and of what is made of log-probs.
BATCH, SETTINGS, PLANTED, PLANTED_REFERENCE = "batch", "settings", "planted model", "planted reference"
PLANTED_LOGITS = "planted logits"
MADE = frozenset((PLANTED, PLANTED_REFERENCE, PLANTED_LOGITS))
BATCHED_SLOTS = frozenset(("loss", "advantages", "gae", "dpo_loss", "value_loss", "kl", "whiten"))
SMALLEST_CLIP = 1e-5  # a default below it is there against a division by zero


def alias(parameter: inspect.Parameter, named: list[inspect.Parameter], open_roles: list[Role], slot: str) -> str:
    """The role whose name or alias is the parameter's name."""
    if slot == "loss" and _of_sampler(parameter.name, named):
        return "sampler_logprobs"
    found = _by_name(parameter.name, open_roles)
    if found and "clip" in found.name and _tiny(parameter.default):
        return ""
    return found.name if found else ""


def _by_name(name: str, open_roles: list[Role]) -> Role | None:
    wanted = name.lower().strip("_")
    for candidate in open_roles:
        if wanted == candidate.name:
            return candidate
    for candidate in open_roles:
        if wanted in candidate.aliases:
            return candidate
    return None


def _of_sampler(name: str, named: list[inspect.Parameter]) -> bool:
    """Whether the sampler's log-probs are meant, beside the old policy's."""
    own = words(name)
    if not own & LOGPROB or not own & SAMPLER:
        return False
    return any({"old", "prev"} & words(p.name) and LOGPROB & words(p.name) for p in named if p.name != name)


def _tiny(default: object) -> bool:
    return isinstance(default, float) and 0 < default < SMALLEST_CLIP


def container(parameter: inspect.Parameter, named: list[inspect.Parameter], open_roles: list[Role], slot: str) -> str:
    """A batch, a configuration or a model, where the parameter is required and its name says so."""
    del named, open_roles
    name = parameter.name.lower().strip("_")
    if parameter.default is not parameter.empty:
        return ""
    if slot in BATCHED_SLOTS and name in BATCH_NAMES:
        return BATCH
    said = words(name)
    if slot in ("logprobs", "entropy") and said & MODEL:
        return PLANTED
    if slot == "loss" and said & MODEL and said <= MODEL | REFERENCE | {"fn", "module"}:
        return PLANTED_REFERENCE if said & REFERENCE else PLANTED
    if slot == "loss" and said & {"logits", "logit"} and not said & REFERENCE:
        return PLANTED_LOGITS
    return SETTINGS if slot != "reward" and slot != "decode" and name in SETTINGS_NAMES else ""


def said_by_words(
    parameter: inspect.Parameter, named: list[inspect.Parameter], open_roles: list[Role], slot: str
) -> str:
    """The role that the words of the name say; of optional parameters only those that are off."""
    del named
    if parameter.default not in (parameter.empty, None):
        return ""
    return by_words(parameter.name, slot, frozenset(one.name for one in open_roles))


def known_roles(slot: str, named: list[inspect.Parameter]) -> tuple[Role, ...]:
    """Roles that parameters of the function can play: whole rows come first where it calls a model itself."""
    calls = slot == "loss" and any(container(one, named, [], slot) in MADE for one in named)
    own = tuple(one for one in roles(slot) if not calls or one.name != "logprobs")
    return (*SEQUENCE, *own) if calls else own


def meant(key: str, slot: str, inner: frozenset[str]) -> str:
    """The role that a key of a batch means; "" where it means none of those that are in it."""
    found = _by_name(key, [one for one in (*SEQUENCE, *roles(slot)) if one.name in inner])
    if found:
        return found.name
    role = by_words(key, slot, inner)
    # Stored log-probs are the old policy's where the policy's own are an argument beside the batch.
    return "old_logprobs" if not role and "old_logprobs" in inner and words(key) & LOGPROB else role

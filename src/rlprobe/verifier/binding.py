"""Which role each parameter of a user's function plays: by explicit map, by name, and by position for the first ones."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rlprobe.verifier.containers import Batch, Settings
from rlprobe.verifier.declared import Declared
from rlprobe.verifier.naming import foreign
from rlprobe.verifier.planted import PlantedModel, TokenModel, around, token_logits, widened
from rlprobe.verifier.roles import Role, roles
from rlprobe.verifier.scalars import constants_of
from rlprobe.verifier.telling import (
    BATCH,
    MADE,
    PLANTED,
    PLANTED_LOGITS,
    PLANTED_REFERENCE,
    SETTINGS,
    alias,
    container,
    known_roles,
    meant,
    said_by_words,
)
from rlprobe.verifier.unwrapping import parameters_of

COLUMN = "column "  # a parameter of a reward function that takes a column of the data set


class Unbindable(TypeError):
    """A required parameter whose role is not known; the message names it and the way to map it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One parameter and its role."""

    parameter: str
    role: str
    how: str  # "map", "name", "position"
    positional: bool
    required: bool
    annotation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How a function is called.

    Attributes:
        bound: one entry a parameter that has a role, in the order of the signature.
        constants: role -> value for scalar parameters that no check varies.
        assumed: role -> value that neither the user nor a default gave.
        extra: whether the function takes any further keyword (`**kwargs`).
        carried: roles that no parameter plays and that a batch carries.
        read: roles that the function has asked the batch for so far.
        temperature: what a loss that calls a model divides the logits by.
        prompt: tokens of a prompt that stand before the completions of a loss that calls a model.
        wide: whether its mask has a column for the prompt's last token too.
    """

    slot: str
    bound: tuple[Bound, ...]
    constants: Mapping[str, object]
    assumed: Mapping[str, object]
    extra: bool
    carried: frozenset[str] = frozenset()
    read: set[str] = field(default_factory=set, compare=False)
    temperature: float = 1.0
    prompt: int = 3
    wide: bool = False

    def takes(self, role: str) -> bool:
        """Whether some parameter plays the role, or a batch carries it."""
        return role in self.carried or any(one.role == role for one in self.bound)

    @property
    def makes(self) -> bool:
        """Whether something that it takes is made of log-probs or logits."""
        return any(one.role in MADE for one in self.bound)

    def settled(self) -> "Binding":
        """The same after a call: the batch carries what the function asked it for."""
        taken = {one.role for one in self.bound}
        # A batch brings a mask whether or not the loss looks at it: one that does not trains on padding.
        always = {"mask"} if self.slot == "loss" else set()
        kept = self.read | always | {role for made in taken & MADE for role in _made_of(made, self.slot)}
        return replace(self, carried=self.carried & kept) if BATCH in taken else self

    def arrange(self, values: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """Positional and keyword arguments for values by role; what no parameter plays is left out."""
        given = self._completed({**self.constants, **values})
        positional: list[object] = []
        keywords: dict[str, object] = {}
        open_row = True
        for one in self.bound:
            if one.role not in given:
                open_row = False
            elif one.positional and open_row:
                positional.append(given[one.role])
            else:
                keywords[one.parameter] = given[one.role]
        return positional, keywords

    def _completed(self, given: dict[str, object]) -> dict[str, object]:
        """The values with the containers and lengths that are made of them."""
        taken = {one.role for one in self.bound}
        if taken & MADE:
            given |= self._planted(given, taken)
        if BATCH in taken:
            inner = {role: value for role, value in given.items() if role not in taken and role != "logprobs"}
            if not taken & MADE and "logprobs" in given and "logprobs" not in taken:
                inner["logprobs"] = given["logprobs"]
            given[BATCH] = Batch(inner, lambda key: meant(key, self.slot, frozenset(inner)), self.read)
        for role, array, cut in (("width", "rewards", 0), ("completion_tokens", "ids", 1)):
            if role in taken and role not in given and array in given:
                given[role] = len(given[array][0]) - cut  # type: ignore[index]  # an array or lists
        return given

    def _planted(self, given: dict[str, object], taken: set[str]) -> dict[str, object]:
        """Models and logits under which the log-probs are those that were given, and the rows to ask them for."""
        if self.slot != "loss":
            return {PLANTED: PlantedModel(given.get("logits"))}
        logprobs, mask = given["logprobs"], given.get("mask")
        made = around(logprobs, mask, self.prompt)
        if PLANTED in taken:
            made[PLANTED] = TokenModel(logprobs, self.temperature, self.prompt)
        if PLANTED_LOGITS in taken:
            whole = TokenModel(logprobs, self.temperature, self.prompt)
            made[PLANTED_LOGITS] = whole().logits if self.wide else token_logits(logprobs, self.temperature)
            made["sequence_ids"] = made["sequence_ids" if self.wide else "completion_ids"]
        if PLANTED_REFERENCE in taken:
            made[PLANTED_REFERENCE] = TokenModel(given.get("ref_logprobs", logprobs), self.temperature, self.prompt)
        if self.wide and mask is not None:
            made["mask"] = widened(mask)
        return made


def bind(function: Callable[..., object], slot: str, given_map: Mapping[str, object], declared: Declared) -> Binding:
    """The binding of a function.

    Raises:
        Unbindable: a required parameter has no role that can be told, or the function has no readable signature.
    """
    parameters = _parameters(function, slot)
    mapped = _mapped(given_map, slot)
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    known = known_roles(slot, named)
    open_roles = [one for one in known if one.name not in mapped]
    found = {parameter: (role, "map") for role, parameter in mapped.items()}
    for tell in (alias, container, said_by_words):
        for parameter in named:
            if parameter.name in found:
                continue
            role = tell(parameter, named, open_roles, slot)
            if role:
                found[parameter.name] = (role, "name")
                open_roles = [one for one in open_roles if one.name != role]
    bound = [_bound(parameter, *found[parameter.name]) for parameter in named if parameter.name in found]
    unknown = [parameter for parameter in named if parameter.name not in found]
    bound += _by_position(unknown, parameters, open_roles, slot)
    if not parameters or all(p.kind == p.VAR_POSITIONAL for p in parameters):
        bound = [_anonymous(one) for one in known[: _usual_count(slot)]]
    else:
        bound = _in_order(bound, named)
    taken = {one.role for one in bound}
    whole = frozenset(one.name for one in known) - taken if BATCH in taken else frozenset()
    carried = whole | frozenset(role for made in taken & MADE for role in _made_of(made, slot))
    constants, assumed = constants_of({one.role: one.parameter for one in bound}, parameters, declared)
    if SETTINGS in taken:
        constants[SETTINGS] = assumed[SETTINGS] = Settings(declared.config, declared)
    extra = any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters)
    return Binding(
        slot=slot, bound=tuple(bound), constants=constants, assumed=assumed, extra=extra, carried=carried,
        temperature=declared.number("temperature") or 1.0,
    )  # fmt: skip


def _made_of(made: str, slot: str) -> tuple[str, ...]:
    """Roles that a planted container is made of."""
    if slot != "loss":
        return ("logits",)
    return ("ref_logprobs",) if made == PLANTED_REFERENCE else ("logprobs",)


def _parameters(function: Callable[..., object], slot: str) -> list[inspect.Parameter]:
    try:
        return parameters_of(function)
    except (TypeError, ValueError) as error:
        raise Unbindable(
            f"{slot}: the signature of {function!r:.80} cannot be read ({error}). Wrap it in a def."
        ) from error


def _mapped(given: Mapping[str, object], slot: str) -> dict[str, str]:
    own = given.get(slot)
    chosen = own if isinstance(own, Mapping) else given
    known = {one.name for one in roles(slot)}
    return {str(role): str(name) for role, name in chosen.items() if role in known and isinstance(name, str)}


def _in_order(bound: list[Bound], named: list[inspect.Parameter]) -> list[Bound]:
    """By signature; what stands behind a parameter without a role can only be handed over by its name."""
    roles_of = {one.parameter: one for one in bound}
    ordered: list[Bound] = []
    gap = False
    for parameter in named:
        one = roles_of.get(parameter.name)
        if one is None:
            gap = True
        else:
            ordered.append(replace(one, positional=one.positional and not gap))
    return ordered


def _by_position(
    unknown: list[inspect.Parameter], parameters: list[inspect.Parameter], open_roles: list[Role], slot: str
) -> list[Bound]:
    """Roles for required parameters with foreign names: the slot's own order, as long as it has an order."""
    ordered = [one.name for one in roles(slot)[: _usual_count(slot)]]
    found = []
    for parameter in unknown:
        if parameter.default is not parameter.empty:
            continue
        index = parameters.index(parameter)
        role = ordered[index] if index < len(ordered) else ""
        if foreign(parameter.name, slot, role):
            role = ""
        if slot == "reward" and not any(one.name == role for one in open_roles):
            found.append(_bound(parameter, COLUMN + parameter.name, "name"))
            continue
        if parameter.kind == parameter.KEYWORD_ONLY or not any(one.name == role for one in open_roles):
            raise Unbindable(
                f'{slot}: the role of parameter "{parameter.name}" is not known. '
                f'Say it: map={{"{slot}": {{ROLE: "{parameter.name}"}}}}, ROLE one of '
                f"{', '.join(one.name for one in open_roles)}."
            )
        found.append(_bound(parameter, role, "position"))
    return found


def _usual_count(slot: str) -> int:
    """How many leading roles have an order that everybody keeps."""
    return {
        "loss": 4,
        "dpo_loss": 4,
        "value_loss": 4,
        "gae": 2,
        "score": 3,
        "completion_mask": 2,
        "train_step": 0,
        "reward": 1,
        "decode": 1,
    }.get(slot, 2)


def _bound(parameter: inspect.Parameter, role: str, how: str) -> Bound:
    annotation = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
    return Bound(
        parameter=parameter.name,
        role=role,
        how=how,
        positional=parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD),
        required=parameter.default is parameter.empty,
        annotation=annotation,
    )


def _anonymous(role: Role) -> Bound:
    return Bound(parameter=role.name, role=role.name, how="position", positional=True, required=True, annotation="")

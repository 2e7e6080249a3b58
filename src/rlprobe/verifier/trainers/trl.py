"""A live TRL trainer (GRPO, RLOO, DPO) as a Pipeline: its own methods, called with planted inputs and put back after.

Tried with TRL 1.16. Private methods that another version lacks leave their slot empty, which is told as not checkable.
"""

from typing import TYPE_CHECKING

from rlprobe.verifier.dataset import Rows, rows_of
from rlprobe.verifier.declared import NAMES
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.trainers import trl_groups, trl_preferences
from rlprobe.verifier.trainers.planting import is_adapter

if TYPE_CHECKING:
    from transformers import Trainer

DATASET_ROWS = 16  # rows of the training data set that reward checks may use
# What `loss_type` declares beyond the aggregation; these two have no clip edges of their own.
SMOOTHED = ("robust", "exo_pair")
WITHOUT_CLIP = ("cispo", "sapo", "vespo")


def pipeline_of(trainer: "Trainer") -> Pipeline:
    """The trainer's own functions by slot.

    Raises:
        TypeError: the trainer is of a kind that is not known.
    """
    kind = _kind(trainer)
    slots: dict[str, object] = {
        "model": _unwrapped(trainer),
        "ref_model": getattr(trainer, "ref_model", None),
        "optimizer": getattr(trainer, "optimizer", None),
        "tokenizer": getattr(trainer, "processing_class", None),
        "dataset": _rows(getattr(trainer, "train_dataset", None)),
        "config": _settings(trainer, kind),
        "declare": _declared(trainer, kind),
    }
    slots.update(trl_preferences.slots(trainer) if kind == "dpo" else trl_groups.slots(trainer, kind))
    return Pipeline(**slots)  # type: ignore[arg-type]  # slots take any object


def _kind(trainer: "Trainer") -> str:
    names = {parent.__name__ for parent in type(trainer).__mro__}
    for kind in ("grpo", "rloo", "dpo"):
        if f"{kind.upper()}Trainer" in names:
            return kind
    raise TypeError(f"verify: expected a GRPO, RLOO or DPO trainer of TRL, got {type(trainer).__name__}.")


def _unwrapped(trainer: "Trainer") -> object:
    unwrap = getattr(getattr(trainer, "accelerator", None), "unwrap_model", None)
    model = getattr(trainer, "model", None)
    return unwrap(model) if callable(unwrap) and model is not None else model


def _rows(dataset: object) -> Rows | None:
    if dataset is None or not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        return None  # a stream: looking at it would use it up
    return rows_of(dataset, DATASET_ROWS)


def _settings(trainer: "Trainer", kind: str) -> dict[str, object]:
    """Settings by the names that the registry knows, as the trainer's arguments have them."""
    arguments = getattr(trainer, "args", None)
    names = [
        name for canonical, others in NAMES.items() if canonical != "label_smoothing" for name in (canonical, *others)
    ]
    if kind == "rloo":
        names.remove("beta")  # its KL is a part of the reward, not of the loss
    return {name: getattr(arguments, name) for name in names if getattr(arguments, name, None) is not None}


def _declared(trainer: "Trainer", kind: str) -> dict[str, object]:
    """What the arguments say the code does, where a name means something else from kind to kind."""
    arguments = getattr(trainer, "args", None)

    def asked(name: str) -> object:
        return getattr(arguments, name, None)

    told: dict[str, object] = {"algorithm": kind, "adapter": is_adapter(getattr(trainer, "model", None))}
    told["raw_logits"] = True  # the planted hidden states take the whole way through the trainer's head
    if kind == "dpo":
        types = asked("loss_type") or ["sigmoid"]
        listed = [types] if isinstance(types, str) else list(types)  # type: ignore[call-overload]  # a list of names
        told["dpo_loss_type"] = listed[0] if len(listed) == 1 else "mixture"
        told["dpo_beta"] = asked("beta")
        if told["dpo_loss_type"] in SMOOTHED:  # the others leave the argument unread, as its help says
            told["label_smoothing"] = asked("label_smoothing")
        return told
    if kind == "rloo":
        told["ratio"] = "sequence"
        told["kl_coefficient"] = 0.0  # of the loss
        told["advantage_scaling"] = "batch" if asked("normalize_advantages") else "none"
        return told
    loss_type = str(asked("loss_type") or "")
    high = asked("epsilon_high")
    if loss_type not in WITHOUT_CLIP:
        told["clip_low"], told["clip_high"] = asked("epsilon"), asked("epsilon") if high is None else high
    told["kl_estimator"] = "k3" if asked("beta") else "none"
    return told

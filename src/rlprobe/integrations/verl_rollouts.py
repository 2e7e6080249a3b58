"""verl's rollouts as sample rows, taken where the driver computes the advantages. Read from verl 0.5.0 to 0.9.1.

The legacy trainer has the whole batch there; the v1 trainer's texts are asked of its TransferQueue, as verl itself does
for `trainer.rollout_data_dir`. Everything lies in host memory by then. Texts are decoded of at most TEXT_ROWS samples a
step, whole groups of them, because decoding is the one thing here that takes time.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol
from weakref import ReferenceType, ref

import numpy as np

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.verl_tracking import Backend, current, report
from rlprobe.integrations.wrapping import Wraps

if TYPE_CHECKING:
    from torch import Tensor

TEXT_ROWS = 256  # samples a step whose texts are decoded
_TOKENS = {  # column of per-token numbers -> verl's name
    "token_old_logprobs": "old_log_probs",
    "token_reference_logprobs": "ref_log_prob",
    "token_sampler_logprobs": "rollout_log_probs",
}
_MEANS = {"token_old_logprobs": "old_logprob", "token_reference_logprobs": "reference_logprob"}
_NUMBERS = (int, float, np.number, np.bool_)
_MEANS |= {"token_sampler_logprobs": "sampler_logprob"}


class _Batch(Protocol):
    """verl.DataProto."""

    batch: "Mapping[str, Tensor]"
    non_tensor_batch: Mapping[str, Sequence[object]]
    meta_info: Mapping[str, Sequence[str]]


class _Tokenizer(Protocol):
    pad_token_id: int

    def batch_decode(self, ids: object, *, skip_special_tokens: bool) -> list[str]: ...


class _Trainer(Protocol):
    """RayPPOTrainer or the v1 PPOTrainer."""

    config: Mapping[str, Mapping[str, object]]
    global_steps: int
    tokenizer: _Tokenizer


class _State:
    """Which trainer fits in this process, and what its present step has computed."""

    def __init__(self) -> None:
        self.trainer: ReferenceType[_Trainer] | None = None
        self.inside = False  # of the v1 trainer's _compute_advantage
        self.computed: _Batch | None = None


_state = _State()


def install(module: object) -> None:
    """Look on at a module of verl's trainers."""
    names = vars(module)
    wraps = Wraps(HookGuard(report))
    if (legacy := names.get("RayPPOTrainer")) is not None:
        wraps.around(legacy, "fit", before=_fits)
        wraps.around(module, "compute_advantage", after=_computed)
    elif (trainer := names.get("PPOTrainer")) is not None:
        queue = names["tq"]

        def computed(_: object, __: object, trainer: _Trainer, batch: "_Keys", *___: object, **____: object) -> None:
            _v1_computed(trainer, batch, queue)

        wraps.around(trainer, "fit", before=_fits)
        wraps.around(trainer, "_compute_advantage", before=_v1_computes, after=computed)
        wraps.around(module, "compute_advantage_for_multi_trajectories", after=_v1_all_trajectories)


def _fits(trainer: _Trainer, *_: object, **__: object) -> None:
    _state.trainer = ref(trainer)


def _computed(_: object, data: _Batch, *__: object, **___: object) -> None:
    """The legacy trainer's advantages are there: with them in `data`, which verl gives back."""
    backend, trainer = current(), None if _state.trainer is None else _state.trainer()
    if backend is None or trainer is None or _state.inside:
        return
    columns = columns_of(data)
    columns |= texts_of(trainer.tokenizer, data.batch["prompts"], data.batch["responses"], columns)
    _record(backend, trainer, columns)


class _Keys(Protocol):
    """transfer_queue.KVBatchMeta."""

    keys: Sequence[str]
    partition_id: str


class _Queue(Protocol):
    """The module transfer_queue."""

    def kv_batch_get(
        self, *, keys: Sequence[str], partition_id: str, select_fields: list[str]
    ) -> "Mapping[str, Tensor]": ...


def _v1_computes(*_: object, **__: object) -> None:
    _state.inside, _state.computed = True, None


def _v1_all_trajectories(_: object, data: _Batch, *__: object, **___: object) -> None:
    _state.computed = data


def _v1_computed(trainer: _Trainer, batch: _Keys, queue: _Queue) -> None:
    data, _state.inside, _state.computed = _state.computed, False, None
    backend = current()
    if backend is None or data is None:
        return
    columns = columns_of(data)
    fields = ["prompts", "responses"]
    ids = queue.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
    padding = trainer.tokenizer.pad_token_id
    prompts, responses = (ids[name].to_padded_tensor(padding=padding) for name in fields)
    columns |= texts_of(trainer.tokenizer, prompts, responses, columns)
    columns["token_ids"] = _rows(responses.cpu().numpy(), data.batch["response_mask"].bool().cpu().numpy(), np.int32)
    columns["prompt_tokens"] = ids["prompts"].offsets().diff().tolist()
    if isinstance(cap := trainer.config["data"]["max_response_length"], int):
        columns["truncated"] = (ids["responses"].offsets().diff() >= cap).tolist()
    with backend.guard("parts of the reward"):  # a read of their own: what fails here costs no texts
        columns |= _v1_components(batch, queue)
    _record(backend, trainer, columns)


def _v1_components(batch: _Keys, queue: _Queue) -> dict[str, object]:
    """What the agent loop kept of the reward function's answers beside the reward."""
    fetched = queue.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
    fields = dict(fetched.items()).get("extra_fields", ())  # a TensorDict does not answer `in`
    rows = fields.tolist() if hasattr(fields, "tolist") else list(fields)
    said = [row.get("reward_extra_info") or {} if isinstance(row, Mapping) else {} for row in rows]
    names = dict.fromkeys(name for row in said for name in row)
    return components_of({str(name): [row.get(name) for row in said] for name in names}, len(batch.keys))


def _record(backend: Backend, trainer: _Trainer, columns: dict[str, object]) -> None:
    if backend.recorder is not None:
        backend.recorder.log_samples(trainer.global_steps, columns, owned=True)  # type: ignore[arg-type]  # columns of equal length


def columns_of(data: _Batch) -> dict[str, object]:
    """The batch's numbers as columns, a sample a row; per-token arrays cut to the sample's own tokens."""
    batch = dict(data.batch.items())  # a TensorDict does not answer `in`
    mask = batch["response_mask"].bool()
    lengths = mask.sum(-1)
    scores = batch["token_level_scores"] if "token_level_scores" in batch else batch["token_level_rewards"]
    divisor = lengths.clamp(min=1)
    columns: dict[str, object] = {
        "reward": scores.float().sum(-1).tolist(),
        "advantage": ((batch["advantages"].float() * mask).sum(-1) / divisor).tolist(),
        "completion_tokens": lengths.tolist(),
    }
    if "uid" in data.non_tensor_batch:
        columns["group"] = [str(each) for each in data.non_tensor_batch["uid"]]
    if "attention_mask" in batch:
        given = batch["attention_mask"][:, -mask.shape[1] :].sum(-1)
        columns["truncated"] = (given == mask.shape[1]).tolist()
        columns["prompt_tokens"] = batch["attention_mask"][:, : -mask.shape[1]].sum(-1).tolist()
    given = {name: data.non_tensor_batch.get(name, ()) for name in _extra_names(data)}
    return columns | components_of(given, len(mask)) | _per_token(batch, mask, divisor)


def _extra_names(data: _Batch) -> Sequence[str]:
    """What the reward function said beside the reward.

    verl 0.7 and later name it. Before that it is what lies in plain arrays of numbers: a data set's columns are arrays
    of objects, and two underscores begin verl's own.
    """
    named = data.meta_info.get("reward_extra_keys")
    if named is not None:
        return named
    kinds = {name: getattr(values, "dtype", None) for name, values in data.non_tensor_batch.items()}
    return [name for name, kind in kinds.items() if getattr(kind, "kind", "") in "fiub" and name[:2] != "__" and kind]


def components_of(given: Mapping[str, Sequence[object]], count: int) -> dict[str, object]:
    """The parts of a reward that are numbers as columns `reward/NAME`; None where a sample has none."""
    columns: dict[str, object] = {}
    for name, values in given.items():
        cells = [float(value) if isinstance(value, _NUMBERS) else None for value in values]
        texts = any(value is not None and not isinstance(value, _NUMBERS) for value in values)
        if len(cells) == count and not texts and any(cell is not None for cell in cells):
            columns[f"reward/{name}"] = cells
    return columns


def _per_token(batch: "Mapping[str, Tensor]", mask: "Tensor", divisor: "Tensor") -> dict[str, object]:
    columns: dict[str, object] = {}
    keep = mask.cpu().numpy()
    for ours, theirs in _TOKENS.items():
        if theirs in batch:
            values = batch[theirs].float()
            columns[_MEANS[ours]] = ((values * mask).sum(-1) / divisor).tolist()
            columns[ours] = _rows(values.cpu().numpy(), keep, np.float16)
    if {"old_log_probs", "ref_log_prob"} <= set(batch):
        difference = (batch["ref_log_prob"] - batch["old_log_probs"]).float()
        k3 = (difference.exp() - difference - 1) * mask
        columns["kl"], columns["kl_estimator"] = (k3.sum(-1) / divisor).tolist(), ["k3"] * len(mask)
    if "responses" in batch:
        columns["token_ids"] = _rows(batch["responses"].cpu().numpy(), keep, np.int32)
    return columns


def _rows(values: "np.ndarray", keep: "np.ndarray", kind: type[np.generic]) -> list[object]:
    """The values of each row that are kept, as copies."""
    return [line[here].astype(kind) for line, here in zip(values, keep, strict=True)]


def texts_of(
    tokenizer: _Tokenizer, prompts: "Tensor", responses: "Tensor", columns: Mapping[str, object]
) -> dict[str, object]:
    """Prompt and completion of the samples that are decoded; None for the others."""
    count = len(responses)
    chosen = _chosen(columns.get("group"), count)
    out: dict[str, object] = {}
    for name, ids in (("prompt", prompts), ("completion", responses)):
        texts: list[str | None] = [None] * count
        decoded = tokenizer.batch_decode(ids[chosen], skip_special_tokens=True)
        for row, text in zip(chosen, decoded, strict=True):
            texts[row] = text
        out[name] = texts
    return out


def _chosen(groups: object, count: int) -> list[int]:
    """Rows of whole groups, in the order of the batch, up to TEXT_ROWS; at least those of one group."""
    if count <= TEXT_ROWS or not isinstance(groups, list):
        return list(range(min(count, TEXT_ROWS)))
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    chosen: list[int] = []
    for rows in members.values():
        if chosen and len(chosen) + len(rows) > TEXT_ROWS:
            break
        chosen += rows
    return sorted(chosen[:TEXT_ROWS])

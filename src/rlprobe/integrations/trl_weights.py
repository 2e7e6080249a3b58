"""What an optimizer step did to the weights: gradients before clipping, size of the update, drift of the reference.

Everything works on a strided sample of each tensor, so that it costs what a few thousand numbers a tensor cost.
All tensors are detached, so that no call needs torch.no_grad. Where each process holds a shard, only the shard is
looked at: an operation on the whole tensor would wait for the other processes, which may not be asking.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import Parameter

SAMPLED = 2048  # elements of each tensor that are watched
REFERENCE_EVERY = 10  # steps between two looks at the reference
REFERENCE_FIRST = 3  # steps at the start in which every one is looked at


def sampled(parameters: Iterable[Parameter]) -> list[Tensor]:
    """A strided view of at most SAMPLED elements of each tensor; empty and non-contiguous shards are left out."""
    views = []
    for parameter in parameters:
        tensor = parameter.detach()
        local = getattr(tensor, "to_local", None)
        tensor = local() if callable(local) else tensor
        if tensor.numel() == 0 or not tensor.is_contiguous() or not tensor.is_floating_point():
            continue
        views.append(tensor.view(-1)[:: max(1, tensor.numel() // SAMPLED)][:SAMPLED])
    return views


def gathered(views: list[Tensor]) -> Tensor:
    """One float32 vector of all views, on the first view's device."""
    device = views[0].device
    return torch.cat([view.to(device=device, dtype=torch.float32) for view in views])


class UpdateProbe:
    """Size of one optimizer step on a sample of the trainable weights."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self._before: Tensor | None = None

    def before(self) -> None:
        """Remember the weights just before the optimizer steps."""
        views = sampled(self._parameters)
        self._before = gathered(views) if views else None

    def after(self) -> dict[str, float]:
        """weight_update_ratio and weight_changed_fraction of the step; empty when there is nothing to compare."""
        before, self._before = self._before, None
        if before is None:
            return {}
        now = gathered(sampled(self._parameters))
        if now.shape != before.shape:
            return {}
        change = now - before
        norms = torch.stack([change.norm(), before.norm(), (change != 0).float().mean()]).tolist()
        return {
            "weight_update_ratio": norms[0] / norms[1] if norms[1] else float("nan"),
            "weight_changed_fraction": norms[2],
        }


class ReferenceProbe:
    """Whether the reference stays what it was when training began.

    Args:
        reference: the reference model; with adapters the policy, whose frozen base weights are the reference.
        frozen_only: look at the tensors that need no gradient only.
    """

    def __init__(self, reference: torch.nn.Module, *, frozen_only: bool) -> None:
        self._parameters = [p for p in reference.parameters() if not (frozen_only and p.requires_grad)]
        views = sampled(self._parameters)
        self._start = gathered(views) if views else None

    def drift(self) -> float | None:
        """Norm of the change since the start over the norm at the start; None when it cannot be told."""
        if self._start is None:
            return None
        now = gathered(sampled(self._parameters))
        if now.shape != self._start.shape:
            return None
        changed, start = torch.stack([(now - self._start).norm(), self._start.norm()]).tolist()
        return float(changed / start) if start else None


def due(step: int, first: int) -> bool:
    """Whether the reference is looked at in this step; `first` is the first step of the session."""
    return step - first < REFERENCE_FIRST or step % REFERENCE_EVERY == 0


def sharded(tensor: Tensor) -> bool:
    """Whether this process holds a part of the tensor, or of what it is the sum of (torch's DTensor)."""
    return any(not placement.is_replicate() for placement in getattr(tensor, "placements", ()))


def whole(tensor: Tensor) -> Tensor | None:
    """The tensor as this process alone can read it; None where others hold a part of it."""
    if sharded(tensor):
        return None
    local = getattr(tensor, "to_local", None)
    return local() if callable(local) else tensor


def bad_gradients(parameters: Iterable[Tensor]) -> int | None:
    """Gradient tensors that hold NaN or infinity; None where there are none to look at, or only shards of them.

    One norm a tensor; elements are looked at only where a norm is not finite, since finite elements can have a norm
    that overflows.
    """
    found = [whole(p.grad) for p in parameters if p.grad is not None]
    gradients = [each for each in found if each is not None and each.numel()]
    if not gradients or len(found) > sum(each is not None for each in found):
        return None
    by_kind: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for gradient in gradients:
        by_kind.setdefault((gradient.device, gradient.dtype), []).append(gradient)
    bad = 0
    for same in by_kind.values():
        norms = torch.stack([norm.float() for norm in torch._foreach_norm(same)])
        suspects = (~torch.isfinite(norms)).nonzero().flatten().tolist()
        bad += sum(not bool(torch.isfinite(same[row]).all()) for row in suspects)
    return bad

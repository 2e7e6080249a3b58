"""The attributes of a TRL trainer that rlprobe reads: in trl 1.16 those of GRPOTrainer and RLOOTrainer.

Names with an underscore are private to TRL; the hooks live with their absence where they can.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import Tensor
from torch.nn import Module


class State(Protocol):
    """transformers.TrainerState."""

    global_step: int
    epoch: float | None


class Arguments(Protocol):
    """GRPOConfig or RLOOConfig."""

    output_dir: str
    steps_per_generation: int
    num_iterations: int
    gradient_accumulation_steps: int
    entropy_target: float


class Accelerator(Protocol):
    """accelerate.Accelerator."""

    num_processes: int
    process_index: int
    optimizer_step_was_skipped: bool
    sync_gradients: bool

    def clip_grad_norm_(self, parameters: object, *args: object, **kwargs: object) -> object: ...


class Logs(Protocol):
    """The trainer's table of samples: deques by column; "rewards" and "extra" hold one deque a name."""

    def __getitem__(self, key: str) -> Sequence[float]: ...
    def get(self, key: str, default: Mapping[str, object]) -> Mapping[str, Sequence[object]]: ...


class Trainer(Protocol):
    """GRPOTrainer or RLOOTrainer; what only GRPOTrainer has is read after asking which of the two it is."""

    args: Arguments
    state: State
    model: Module
    ref_model: Module | None
    accelerator: Accelerator
    optimizer: object  # there while it trains; PPOTrainer's from the start
    processing_class: object
    beta: float
    epsilon_low: float
    epsilon_high: float
    num_generations: int
    num_generations_eval: int
    current_gradient_accumulation_steps: int
    max_completion_length: int | None
    reward_weights: Tensor
    router_aux_loss_coef: float
    # GRPOTrainer alone
    loss_type: str
    importance_sampling_level: str
    top_entropy_quantile: float
    use_adaptive_entropy: bool
    entropy_coef: float
    _last_world_entropy: float
    # tables that the trainer fills and clears
    _metrics: Mapping[str, Mapping[str, Sequence[object]]]
    _logs: Logs

    def is_world_process_zero(self) -> bool: ...
    def add_callback(self, callback: object) -> None: ...
    def remove_callback(self, callback: object) -> None: ...

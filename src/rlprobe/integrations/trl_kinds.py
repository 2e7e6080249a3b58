"""Which watch looks on at which trainer."""

from collections.abc import Mapping

from rlprobe.integrations.guard import HookGuard
from rlprobe.integrations.trl_duels import DuelWatch
from rlprobe.integrations.trl_hooks import Hooks
from rlprobe.integrations.trl_online import OnlineWatch
from rlprobe.integrations.trl_pairs import PairWatch
from rlprobe.integrations.trl_ppo import PpoWatch
from rlprobe.integrations.trl_settings import algorithm_of
from rlprobe.integrations.trl_trainer import Trainer
from rlprobe.integrations.trl_watch import Watch

KINDS: Mapping[str, type[Watch]] = {
    **dict.fromkeys(("grpo", "rloo"), Hooks),
    **dict.fromkeys(("dpo", "kto"), PairWatch),
    "online_dpo": OnlineWatch,
    **dict.fromkeys(("xpo", "nash_md"), DuelWatch),
    "ppo": PpoWatch,
}


def watch_of(trainer: Trainer, guard: HookGuard, *, with_tokens: bool) -> Watch:
    """The watch that knows most of a trainer; any other is recorded by what every trainer has."""
    return KINDS.get(algorithm_of(trainer), Watch)(trainer, guard, with_tokens=with_tokens)

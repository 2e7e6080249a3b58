"""verl: `trainer.logger='["console","rlprobe"]'` records scalars, rollouts and validation generations.

verl 0.9 and later load this module by the entry point `verl.plugins` in every process; older ones by
VERL_USE_EXTERNAL_MODULES=rlprobe.integrations.verl. It only waits here for the modules that it looks on at, so that a
worker, which never imports them, pays nothing.
"""

from rlprobe.integrations.import_hooks import when_imported


def _tracking(module: object) -> None:
    from rlprobe.integrations.verl_tracking import install

    install(module)


def _trainer(module: object) -> None:
    from rlprobe.integrations.verl_rollouts import install

    install(module)


when_imported("verl.utils.tracking", _tracking)
when_imported("verl.trainer.ppo.ray_trainer", _trainer)
when_imported("verl.trainer.ppo.v1.trainer_base", _trainer)

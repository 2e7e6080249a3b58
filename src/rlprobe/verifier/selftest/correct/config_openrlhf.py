"""OpenRLHF's arguments as argparse gives them: PPO with a value head, asymmetric edges."""

from argparse import Namespace

from rlprobe.verifier.pipeline import Pipeline


def make():
    return Pipeline(
        config=Namespace(
            actor_learning_rate=1e-6,
            critic_learning_rate=9e-6,
            init_kl_coef=0.01,
            eps_clip=0.2,
            eps_clip_low_high=[0.2, 0.27],
            advantage_estimator="gae",
            n_samples_per_prompt=1,
            gamma=1.0,
            lambd=0.95,
            temperature=1.0,
            top_p=1.0,
            max_epochs=1,
            generate_max_len=1024,
            max_norm=1.0,
            train_batch_size=128,
            rollout_batch_size=1024,
            lr_warmup_ratio=0.03,
            value_clip=0.5,
            entropy_loss_coef=None,
        )
    )

#!/bin/sh
# verl's GRPO on the data of verl_grpo.py; every setting is verl's own, and "rlprobe" is one of its loggers.
#
#     sh examples/verl_grpo.sh [DATA] [--fault]
#
# With --fault the reward looks for a tag that the prompt does not ask for.
set -eu
data=data/sums
score=compute_score
experiment=first
for word in "$@"; do
    case $word in
        --fault) score=compute_wrong_score experiment=unread ;;
        -*) echo "verl_grpo.sh: expected a folder or --fault, got $word. Leave it out." >&2; exit 2 ;;
        *) data=$word ;;
    esac
done
here=$(cd "$(dirname "$0")" && pwd)
exec "${PYTHON:-python}" -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    algorithm.use_kl_in_reward=False \
    data.train_files="$data/train.parquet" \
    data.val_files="$data/test.parquet" \
    data.train_batch_size=64 \
    data.max_prompt_length=128 \
    data.max_response_length=256 \
    actor_rollout_ref.model.path="${MODEL:-Qwen/Qwen2.5-0.5B-Instruct}" \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.actor.kl_loss_coef=0.001 \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 \
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=8 \
    reward.custom_reward_function.path="$here/verl_grpo.py" \
    reward.custom_reward_function.name=$score \
    trainer.logger='["console","rlprobe"]' \
    trainer.project_name=sums \
    trainer.experiment_name=$experiment \
    trainer.n_gpus_per_node="${GPUS:-1}" \
    trainer.test_freq=10 \
    trainer.total_epochs=1

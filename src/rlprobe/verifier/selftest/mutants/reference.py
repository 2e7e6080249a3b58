"""Bugs of the reference and gradient stage: a reference that moves, old log-probs that follow, gradients that stop."""

from rlprobe.verifier.outcome import Category
from rlprobe.verifier.selftest.mutant import Mutant


def _one(id: str, base: str, old: str, new: str, category: Category, source: str = "") -> Mutant:
    return Mutant(id=id, base=base, old=old, new=new, stage="reference", category=category, source=source)


_REFERENCE = (
    _one("reference-is-a-shallow-copy", "tiny_packed_torch", "reference = copy.deepcopy(model).eval()", "reference = copy.copy(model).eval()", "reference drift", "ref-tied-trlx"),
    _one("reference-is-the-policy", "tiny_packed_torch", "reference = copy.deepcopy(model).eval()", "reference = model", "reference drift"),
    _one("reference-built-anew", "tiny_packed_torch", "reference = copy.deepcopy(model).eval()", "reference = PackedLM().eval()", "reference drift", "ref-lora-grpo-trl"),
    _one("reference-shares-its-embedding", "tiny_packed_torch", "    reference = copy.deepcopy(model).eval()\n", "    reference = copy.deepcopy(model).eval()\n    reference.embed = model.embed\n", "reference drift", "ref-tied-trlx"),
    _one("reference-perturbed-at-start", "tiny_packed_torch", "    reference = copy.deepcopy(model).eval()\n", "    reference = copy.deepcopy(model).eval()\n    reference.norm.weight.data.mul_(1.1)\n", "reference drift"),
    _one("optimizer-holds-the-reference-too", "tiny_packed_torch", "torch.optim.SGD(model.parameters(), lr=0.1)", "torch.optim.SGD([*model.parameters(), *reference.parameters()], lr=0.1)", "reference drift"),
    _one("optimizer-holds-the-reference-only", "tiny_packed_torch", "torch.optim.SGD(model.parameters(), lr=0.1)", "torch.optim.SGD(reference.parameters(), lr=0.1)", "reference drift"),
    _one("optimizer-misses-the-embedding", "tiny_packed_torch", "torch.optim.SGD(model.parameters(), lr=0.1)", "torch.optim.SGD([p for n, p in model.named_parameters() if n != 'embed.weight'], lr=0.1)", "gradient breakage"),
    _one("optimizer-of-a-copy", "tiny_packed_torch", "torch.optim.SGD(model.parameters(), lr=0.1)", "torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)", "gradient breakage"),
    _one("mode-left-in-evaluation", "tiny_packed_torch", "    model.train(was_training)\n", "    model.eval()\n", "reference drift"),
    _one("mode-left-in-training", "tiny_packed_torch", "    model.train(was_training)\n", "    model.train()\n", "reference drift"),
    _one("values-detached", "tiny_packed_torch", "x = self.norm(x + weights @ self.value(x))", "x = self.norm(x + weights @ self.value(x).detach())", "gradient breakage"),
    _one("attention-detached", "tiny_packed_torch", "masked_fill(~(causal & same), float(\"-inf\")).softmax(-1)", "masked_fill(~(causal & same), float(\"-inf\")).softmax(-1).detach()", "gradient breakage"),
    _one("query-detached", "tiny_packed_torch", "weights = self.query(x) @", "weights = self.query(x).detach() @", "gradient breakage", "gc-lora-trl"),
    _one("output-embedding-detached", "tiny_packed_torch", "return x @ self.embed.weight.T", "return x.detach() @ self.embed.weight.T", "gradient breakage"),
    _one("reference-shares-the-trunk-that-trains", "tiny_hydra_torch", "    for parameter in trunk.parameters():\n        parameter.requires_grad_(False)\n", "", "reference drift", "ref-tied-trlx"),
    _one("reference-shares-the-head", "tiny_hydra_torch", "if name != \"trunk\"}", "if name not in (\"trunk\", \"head\")} | {\"head\": policy.head}", "reference drift", "ref-tied-trlx"),
    _one("reference-without-own-modules", "tiny_hydra_torch", "    reference._modules = {\"trunk\": trunk, **own}\n", "", "reference drift"),
    _one("reference-head-built-anew", "tiny_hydra_torch", "reference._modules = {\"trunk\": trunk, **own}", "reference._modules = {\"trunk\": trunk, **own, \"head\": nn.Linear(6, VOCABULARY, bias=False)}", "reference drift"),
    _one("reference-follows-the-policy", "tiny_lm_torch", "    return value.item()\n", "    ref_model.load_state_dict(model.state_dict())\n    return value.item()\n", "reference drift"),
    _one("reference-averages-towards-the-policy", "tiny_lm_torch", "    return value.item()\n", "    for r, p in zip(ref_model.parameters(), model.parameters(), strict=True):\n        r.data.lerp_(p.data, 0.05)\n    return value.item()\n", "reference drift"),
    _one("reference-scored-by-the-policy", "tiny_lm_torch", "ref_logprobs = score(ref_model, ids, mask)", "ref_logprobs = score(model, ids, mask)", "reference drift"),
    _one("reference-scored-warmer", "tiny_lm_torch", "ref_logprobs = score(ref_model, ids, mask)", "ref_logprobs = score(ref_model, ids, mask, temperature=2.0)", "reference drift", "lp-temp-trl"),
    _one("reference-scored-without-a-mask", "tiny_lm_torch", "ref_logprobs = score(ref_model, ids, mask)", "ref_logprobs = score(ref_model, ids, torch.ones_like(mask))", "reference drift", "lp-attnmask-trl"),
    _one("reference-of-other-rows", "tiny_lm_torch", "ref_logprobs = score(ref_model, ids, mask)", "ref_logprobs = score(ref_model, ids, mask).flip(0)", "reference drift", "adv-align-verl"),
    _one("reference-replaced-by-old", "tiny_lm_torch", "mask[:, 1:], ref_logprobs)", "mask[:, 1:], old_logprobs)", "reference drift"),
    _one("reference-trains", "tiny_lm_torch", "reference = copy.deepcopy(model)\n", "reference = model\n", "reference drift"),
    _one("reference-made-from-another-seed", "tiny_lm_torch", "reference = copy.deepcopy(model)\n", "reference = TinyLM()\n", "reference drift"),
    _one("reference-with-a-graph", "tiny_hydra_torch", "        with torch.no_grad():\n            ref_logps", "        with torch.enable_grad():\n            ref_logps", "gradient breakage", "loss-oldgrad-miles"),
    _one("hydra-reference-is-the-policy", "tiny_hydra_torch", "ref_logps = sequence_logps(reference, input_ids", "ref_logps = sequence_logps(policy, input_ids", "reference drift"),
    _one("adapter-reference-is-the-policy", "tiny_lora_torch", "self.reference = copy.deepcopy(model).requires_grad_(False)", "self.reference = model", "reference drift", "ref-lora-grpo-trl"),
    _one("adapter-reference-scored-by-the-policy", "tiny_lora_torch", "ref_logps = get_per_token_logps(self.reference", "ref_logps = get_per_token_logps(model", "reference drift"),
)  # fmt: skip

_STEPS = (
    _one("scored-without-graph", "tiny_lm_torch", "    logits = model(input_ids, attention_mask=attention_mask, position_ids=position_ids)\n", "    with torch.no_grad():\n        logits = model(input_ids, attention_mask=attention_mask, position_ids=position_ids)\n", "gradient breakage"),
    _one("old-follows-the-policy", "tiny_lm_torch", "value = loss(logprobs, old_logprobs,", "value = loss(logprobs, logprobs.detach(),", "reference drift", "loss-self-ratio-forge"),
    _one("old-is-the-policy-itself", "tiny_lm_torch", "value = loss(logprobs, old_logprobs,", "value = loss(logprobs, logprobs,", "gradient breakage", "loss-self-ratio-forge"),
    _one("old-is-the-reference", "tiny_lm_torch", "value = loss(logprobs, old_logprobs,", "value = loss(logprobs, ref_logprobs,", "reference drift"),
    _one("old-scored-warmer", "tiny_lm_torch", "old_logprobs = score(model, ids, mask)", "old_logprobs = score(model, ids, mask, temperature=0.7)", "reference drift", "lp-temp-slime"),
    _one("old-in-bfloat16", "tiny_lm_torch", "old_logprobs = score(model, ids, mask)", "old_logprobs = score(model, ids, mask).bfloat16().float()", "reference drift", "lp-bf16accum-prime"),
    _one("old-shifted", "tiny_lm_torch", "old_logprobs = score(model, ids, mask)", "old_logprobs = score(model, ids, mask).roll(1, dims=1)", "reference drift", "lp-shift-prime"),
    _one("old-without-padding", "tiny_lm_torch", "old_logprobs = score(model, ids, mask)", "old_logprobs = score(model, ids, torch.ones_like(mask))", "reference drift", "lp-padding-nemo"),
    _one("old-with-a-graph", "tiny_lm_torch", "with torch.no_grad():\n        old", "with torch.enable_grad():\n        old", "gradient breakage", "loss-oldgrad-miles"),
    _one("dropout-in-training", "tiny_lm_torch", "nn.Dropout(0.0)", "nn.Dropout(0.1)", "reference drift", "ref-dropout-reef"),
    _one("hydra-dropout-in-training", "tiny_hydra_torch", "nn.Dropout(0.0)", "nn.Dropout(0.2)", "reference drift", "ref-dropout-trl"),
    _one("hydra-old-is-the-policy", "tiny_hydra_torch", "objective = policy_loss(logps, old_logps,", "objective = policy_loss(logps, logps.detach(),", "reference drift", "loss-self-ratio-forge"),
    _one("gradients-pile-up", "tiny_lm_torch", "        optimizer.zero_grad()\n", "", "gradient breakage"),
    _one("hydra-gradients-pile-up", "tiny_hydra_torch", "            optim.zero_grad(set_to_none=True)\n", "", "gradient breakage"),
    _one("adapter-gradients-pile-up", "tiny_lora_torch", "        optimizer.zero_grad()\n", "", "gradient breakage"),
    _one("step-is-missing", "tiny_lm_torch", "        optimizer.step()\n", "", "gradient breakage"),
    _one("step-uphill", "tiny_lm_torch", "        value.backward()\n", "        (-value).backward()\n", "log-space signs"),
    _one("gradient-clipped-to-nothing", "tiny_lm_torch", "clip_grad_norm_(model.parameters(), 1.0)", "clip_grad_norm_(model.parameters(), 0.0)", "constants"),
    _one("gradient-wiped-before-the-step", "tiny_lm_torch", "        optimizer.step()\n", "        optimizer.zero_grad()\n        optimizer.step()\n", "gradient breakage"),
    _one("learning-rate-zero", "tiny_lm_torch", "torch.optim.SGD(model.parameters(), lr=0.05)", "torch.optim.SGD(model.parameters(), lr=0.0)", "configuration"),
    _one("optimizer-of-the-reference", "tiny_lm_torch", "torch.optim.SGD(model.parameters(), lr=0.05)", "torch.optim.SGD(reference.requires_grad_(True).parameters(), lr=0.05)", "gradient breakage"),
    _one("optimizer-of-the-head", "tiny_lm_torch", "torch.optim.SGD(model.parameters(), lr=0.05)", "torch.optim.SGD(model.head.parameters(), lr=0.05)", "gradient breakage"),
    _one("left-in-evaluation", "tiny_lm_torch", "    model.train()\n", "    model.eval()\n", "reference drift"),
    _one("hidden-state-detached", "tiny_lm_torch", "return self.head(self.block(x, allowed))", "return self.head(self.block(x, allowed).detach())", "gradient breakage"),
    _one("embedding-detached", "tiny_lm_torch", "x = self.tokens(input_ids) + self.places(position_ids)", "x = (self.tokens(input_ids) + self.places(position_ids)).detach()", "gradient breakage", "gc-lora-trl"),
    _one("block-under-no-grad", "tiny_lm_torch", "x = x + self.out(weights @ v)\n", "x = x + self.out((weights @ v).detach())\n", "gradient breakage"),
    _one("advantages-negated-in-the-step", "tiny_lora_torch", "per_token = -ratio * advantages[:, None]", "per_token = ratio * advantages[:, None]", "log-space signs"),
    _one("advantages-of-other-rows", "tiny_lora_torch", "-ratio * advantages[:, None]", "-ratio * advantages.flip(0)[:, None]", "grouping and order", "adv-align-verl"),
    _one("mask-not-shifted-in-the-step", "tiny_lora_torch", "attention_mask[:, 1:].to", "attention_mask[:, :-1].to", "masks and alignment", "lp-positionids-trlx"),
    _one("mask-rolled-the-wrong-way", "tiny_lora_torch", "attention_mask[:, 1:].to", "attention_mask.roll(1, dims=1)[:, 1:].to", "masks and alignment", "lp-shift-prime"),
    _one("ratio-without-gradient", "tiny_lora_torch", "ratio = torch.exp(logps - logps.detach())", "ratio = torch.exp(logps - logps)", "gradient breakage"),
    _one("adapter-frozen-instead-of-base", "tiny_lora_torch", "if parameter.requires_grad]", "if not parameter.requires_grad]", "gradient breakage"),
    _one("adapter-output-detached", "tiny_lora_torch", "(x @ self.down.T) @ self.up.T", "((x @ self.down.T) @ self.up.T).detach()", "gradient breakage", "gc-lora-trl"),
    _one("adapter-weights-held-as-data", "tiny_lora_torch", "@ self.up.T", "@ self.up.data.T", "gradient breakage"),
    _one("engine-not-synchronised", "tiny_lora_torch", "        self.engine.sync(model)\n", "", "rollout sync and token identity", "sync-lora-omni"),
    _one("engine-synchronised-before-the-step", "tiny_lora_torch", "        optimizer.step()\n        self.engine.sync(model)\n", "        self.engine.sync(model)\n        optimizer.step()\n", "rollout sync and token identity", "sync-lora-verl"),
    _one("engine-takes-frozen-weights-only", "tiny_lora_torch", "self.weights.load_state_dict(model.state_dict())", "self.weights.load_state_dict({n: t for n, t in model.state_dict().items() if 'up' not in n}, strict=False)", "rollout sync and token identity", "sync-lora-verl"),
    _one("engine-takes-one-adapter-twice", "tiny_lora_torch", "self.weights.load_state_dict(model.state_dict())", "self.weights.load_state_dict({**model.state_dict(), 'head.up': self.weights.head.up})", "rollout sync and token identity", "sync-upproj-unsloth"),
    _one("engine-gets-the-reference", "tiny_lora_torch", "        self.engine.sync(model)\n", "        self.engine.sync(self.reference)\n", "rollout sync and token identity"),
    _one("base-trains-with-the-adapter", "tiny_lora_torch", "        optimizer.step()\n", "        optimizer.step()\n        self.engine.weights.head.base.weight.data.copy_(model.head.base.weight.data.mul_(0.99))\n", "gradient breakage"),
)  # fmt: skip

MUTANTS = (*_REFERENCE, *_STEPS)

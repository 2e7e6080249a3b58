"""Bugs of reward functions: matching, order, totality, wiring."""

from rlprobe.verifier.outcome import Category
from rlprobe.verifier.selftest.mutant import Mutant

_STRINGS: Category = "string processing"
_MISMATCH: Category = "reward and decoding mismatch"
_ORDER: Category = "grouping and order"
_SCALE: Category = "scaling and aggregation"


def _mutant(base: str, id: str, old: str, new: str, category: Category = _STRINGS, source: str = "") -> Mutant:
    return Mutant(id=id, base=base, old=old, new=new, stage="reward", category=category, source=source)


# fmt: off
MUTANTS = (
    # reward_math
    _mutant("reward_math", "boxed-compared-with-not", "1.0 if normalised(found) == normalised(truth)", "1.0 if normalised(found) != normalised(truth)", "log-space signs"),
    _mutant("reward_math", "truth-not-normalised", "normalised(found) == normalised(truth)", "found == normalised(truth)"),
    _mutant("reward_math", "boxed-tail-with-brace", 'return text[start + len("\\\\boxed{") : index]', 'return text[start + len("\\\\boxed{") : index + 1]'),
    _mutant("reward_math", "boxed-tail-loses-last-character", 'return text[start + len("\\\\boxed{") : index]', 'return text[start + len("\\\\boxed{") : index - 1]'),
    _mutant("reward_math", "any-boxed-scores", "if normalised(found) == normalised(truth) else 0.0", "if normalised(found) else 0.0", _MISMATCH),
    _mutant("reward_math", "first-truth-for-all-rows", "for completion, truth in zip(completions, answer):", "for completion, truth in zip(completions, [answer[0]] * len(answer)):", _ORDER),
    _mutant("reward_math", "truths-reversed", "zip(completions, answer):", "zip(completions, answer[::-1]):", _ORDER),
    _mutant("reward_math", "truths-sorted", "zip(completions, answer):", "zip(completions, sorted(answer)):", _ORDER),
    _mutant("reward_math", "truths-shifted-by-one", "zip(completions, answer):", "zip(completions, answer[1:] + answer[:1]):", _ORDER),
    _mutant("reward_math", "rows-without-box-dropped", "            scores.append(0.0)\n        else:", "            continue\n        else:", _ORDER),
    _mutant("reward_math", "answers-consumed", "found = last_boxed(completion)", "found = last_boxed(completion); answer.pop() if len(answer) > len(completions) - 1 else None", "gradient breakage"),
    _mutant("reward_math", "no-box-raises", "if found is None:", 'if found == "":'),
    _mutant("reward_math", "box-prefix-accepted", "normalised(found) == normalised(truth)", "normalised(found).startswith(normalised(truth))", _MISMATCH),
    _mutant("reward_math", "found-inside-truth", "normalised(found) == normalised(truth)", "normalised(found) in normalised(truth)", _MISMATCH),
    _mutant("reward_math", "truth-inside-found", "normalised(found) == normalised(truth)", "normalised(truth) in normalised(found)", _MISMATCH),
    _mutant("reward_math", "missing-box-is-nan", "scores.append(0.0)", 'scores.append(float("nan"))', _SCALE),
    _mutant("reward_math", "missing-box-rewarded", "scores.append(0.0)", "scores.append(1.0)", _MISMATCH),
    _mutant("reward_math", "score-shared-over-the-batch", "return scores", "return [one / len(scores) for one in scores]", _SCALE),
    _mutant("reward_math", "score-centred-on-the-batch", "return scores", "return [one - sum(scores) / len(scores) for one in scores]", _SCALE),
    _mutant("reward_math", "scores-are-text", "scores.append(0.0)", 'scores.append("0.0")'),
    _mutant("reward_math", "all-zeroed", "return scores", "return [0.0 * one for one in scores]", _MISMATCH, "rew-zerotrunc-verifiers"),
    _mutant("reward_math", "scores-sorted", "return scores", "return sorted(scores)", _ORDER),
    _mutant("reward_math", "one-score-for-the-batch", "return scores", "return sum(scores) / len(scores)", _SCALE),
    _mutant("reward_math", "scored-the-prompt", "found = last_boxed(completion)", 'found = last_boxed(str(kwargs["prompts"]) + completion)', _MISMATCH, "mask-prompt-megatron"),
    # reward_docs
    _mutant("reward_docs", "anchored-at-the-start", "re.search(r", "re.match(r", _MISMATCH),
    _mutant("reward_docs", "greedy-group", "(.*?)", "(.*)"),
    _mutant("reward_docs", "whole-match-compared", "match.group(1)", "match.group(0)", _MISMATCH),
    _mutant("reward_docs", "backslash-lost", 'r"\\\\boxed\\{(.*?)\\}"', 'r"\\boxed\\{(.*?)\\}"'),
    _mutant("reward_docs", "first-completion-for-all", "completion) for completion in completions]", "completions[0]) for completion in completions]", _ORDER),
    _mutant("reward_docs", "no-match-raises", 'match.group(1) if match else ""', "match.group(1)"),
    _mutant("reward_docs", "unmatched-dropped", 'match.group(1) if match else "" for match in matches]', "match.group(1) for match in matches if match]", _ORDER),
    _mutant("reward_docs", "negated", "1.0 if content == truth else 0.0", "0.0 if content == truth else 1.0", "log-space signs"),
    _mutant("reward_docs", "compared-with-the-list", "content == truth else", "content == ground_truth else", _MISMATCH),
    _mutant("reward_docs", "compared-with-itself", "content == truth", "content == content", _MISMATCH),
    _mutant("reward_docs", "penalty-where-reward", "return [1.0 if", "return [-1.0 if", "log-space signs"),
    _mutant("reward_docs", "misspelt-column", "completions, ground_truth, **kwargs", "completions, ground_truht=(), **kwargs", "configuration"),
    # reward_think
    _mutant("reward_think", "form-without-dotall", 'r"^<think>.*?</think>\\s*<answer>.*?</answer>$", re.DOTALL', 'r"^<think>.*?</think>\\s*<answer>.*?</answer>$"', _STRINGS, "rew-dotall-openr1"),
    _mutant("reward_think", "answer-without-dotall", 're.compile(r"<answer>(.*?)</answer>", re.DOTALL)', 're.compile(r"<answer>(.*?)</answer>")', _STRINGS, "rew-dotall-openr1"),
    _mutant("reward_think", "form-inverted", "1.0 if FORM.match(text.strip()) else 0.0", "0.0 if FORM.match(text.strip()) else 1.0", "log-space signs"),
    _mutant("reward_think", "tag-misspelt", "\\s*<answer>.*?</answer>$", "\\s*<awnser>.*?</awnser>$"),
    _mutant("reward_think", "role-for-content", 'texts = [completion[0]["content"]', 'texts = [completion[0]["role"]', _MISMATCH),
    _mutant("reward_think", "answer-not-stripped", "found[-1].strip()", "found[-1]"),
    _mutant("reward_think", "truth-not-lowered", "said.lower() == truth.strip().lower()", "said.lower() == truth.strip()"),
    _mutant("reward_think", "empty-answer-scores", "float(said.lower() == truth.strip().lower()) if said else 0.0", "float(said.lower() in truth.strip().lower())", _MISMATCH),
    _mutant("reward_think", "missing-answer-raises", 'found[-1].strip() if found else ""', "found[-1].strip()"),
    _mutant("reward_think", "end-of-text-in-form", "\\s*<answer>.*?</answer>$", "\\s*<answer>.*?</answer><\\|im_end\\|>$", _MISMATCH, "dec-noskip-verl"),
    _mutant("reward_think", "closing-tag-optional", "^<think>.*?</think>\\s*<answer>.*?</answer>$", "^<think>.*?(?:</think>)?\\s*<answer>.*?(?:</answer>)?$", _MISMATCH),
    _mutant("reward_think", "answer-before-reasoning", "^<think>.*?</think>\\s*<answer>.*?</answer>$", "^<answer>.*?</answer>\\s*<think>.*?</think>$"),
    _mutant("reward_think", "weights-too-many", '"reward_weights": [0.2, 1.0]', '"reward_weights": [0.2, 1.0, 1.0]', "configuration"),
    _mutant("reward_think", "text-not-a-list", "return [1.0 if FORM.match(text.strip()) else 0.0 for text in texts]", "return [1.0 if FORM.match(text.strip()) else 0.0 for text in texts[:1]]", _ORDER),
    # reward_gsm8k
    _mutant("reward_gsm8k", "colon-marker", 'r"####\\s*(-?', 'r"###:\\s*(-?', _MISMATCH),
    _mutant("reward_gsm8k", "window-too-short", "solution_str[-300:]", "solution_str[-3:]"),
    _mutant("reward_gsm8k", "window-at-the-start", "solution_str[-300:]", "solution_str[:3]"),
    _mutant("reward_gsm8k", "format-beats-answer", "1.0 if correct else format_score", "format_score if correct else 1.0", "log-space signs"),
    _mutant("reward_gsm8k", "number-against-text", "correct = answer == ground_truth", "correct = float(answer) == ground_truth"),
    _mutant("reward_gsm8k", "identity-for-equality", "answer == ground_truth", "answer is ground_truth"),  # an answer of two digits: equal texts of one are one object from Python 3.12 on
    _mutant("reward_gsm8k", "score-under-another-key", '{"score": 1.0 if correct else format_score', '{"value": 1.0 if correct else format_score'),
    _mutant("reward_gsm8k", "format-score-equals-answer", "format_score=0.1", "format_score=1.0", "constants"),
    _mutant("reward_gsm8k", "no-answer-raises", "return None\n    return found", "pass\n    return found"),
    _mutant("reward_gsm8k", "first-digit-alone", "(-?[0-9][0-9.,]*)", "(-?[0-9])"),
    _mutant("reward_gsm8k", "space-forbidden", "####\\s*", "####"),
    # reward_xml
    _mutant("reward_xml", "part-before-the-tag", 'text.split("<answer>")[-1]', 'text.split("<answer>")[0]'),
    _mutant("reward_xml", "trailing-text-paid", "score -= len(text.split(", "score += len(text.split(", "log-space signs"),
    _mutant("reward_xml", "strip-forgotten", '.split("</answer>")[0].strip()', '.split("</answer>")[0]'),
    # `or` for `and` in extract_answer only takes half-tagged text in, as the published demo itself does: no bug.
    _mutant("reward_xml", "prompt-scored", "extract_answer(c) == a else 0.0 for c, a in zip(completions, answer)", "extract_answer(c) == a else 0.0 for c, a in zip(prompts, answer)", _MISMATCH),
    _mutant("reward_xml", "empty-equals-empty", "2.0 if extract_answer(c) == a else 0.0", "2.0 if extract_answer(c) in a else 0.0", _MISMATCH),
    _mutant("reward_xml", "digits-negated", "0.5 if extract_answer(completion).isdigit() else 0.0", "0.0 if extract_answer(completion).isdigit() else 0.5", "log-space signs"),
    _mutant("reward_xml", "noise-added", "return [count_tags(completion) for completion in completions]", "import random\n    return [count_tags(completion) + 0.1 * random.random() for completion in completions]", _SCALE),
    _mutant("reward_xml", "nested-scores", "return [count_tags(completion) for completion in completions]", "return [[count_tags(completion)] for completion in completions]"),
    # reward_code
    _mutant("reward_code", "fence-without-dotall", '(.*?)```", re.DOTALL)', '(.*?)```")', _STRINGS, "rew-dotall-openr1"),
    _mutant("reward_code", "penalty-positive", "penalty=-1.0", "penalty=1.0", "log-space signs"),
    _mutant("reward_code", "syntax-error-raises", "except (ValueError, SyntaxError):", "except ValueError:"),
    _mutant("reward_code", "mismatches-counted", "sum(one == other for", "sum(one != other for", "log-space signs"),
    _mutant("reward_code", "no-fence-raises", "if not blocks:\n            return self.penalty", "if len(blocks) > 99:\n            return self.penalty"),
    _mutant("reward_code", "sum-not-mean", "zip(value, expected)) / len(expected)", "zip(value, expected)) / 0.0", _SCALE),
    _mutant("reward_code", "tests-consumed", "for one, other in zip(value, expected))", "for one, other in zip(value, [expected.pop(0) for _ in value]))", "grouping and order"),
    _mutant("reward_code", "state-kept", "blocks = self.fence.findall(completion)", "self.penalty -= 1.0; blocks = self.fence.findall(completion)", _SCALE),
    _mutant("reward_code", "column-of-the-wrong-name", "def __call__(self, prompts, completions, tests, **kwargs)", "def __call__(self, prompts, completions, test_cases, **kwargs)", "configuration"),
    # reward_numpy
    _mutant("reward_overlong", "slope-before-the-limit-pays", "-over / BUFFER", "over / BUFFER", "log-space signs"),
    _mutant("reward_overlong", "beyond-the-limit-pays", "scores.append(-1.0)", "scores.append(1.0)", "log-space signs"),
    _mutant("reward_overlong", "long-rows-dropped", "        else:\n            scores.append(-1.0)\n", "", _ORDER),
    _mutant("reward_numpy", "penalty-grows", "return -over", "return over", "log-space signs"),
    _mutant("reward_numpy", "prompt-not-cut-off", "response = query[len(prompt) :]", "response = query[len(prompt) + 40 :]", _MISMATCH),
    _mutant("reward_numpy", "prompt-kept", "response = query[len(prompt) :]", "response = prompt", _MISMATCH),
    _mutant("reward_numpy", "row-zero-written", "scores[row] = 1.0", "scores[0] = 1.0", _ORDER),
    _mutant("reward_numpy", "whole-array-written", "scores[row] = 1.0", "scores[:] = 1.0", _ORDER),
    _mutant("reward_numpy", "over-in-the-denominator", "np.clip(lengths - (LIMIT - BUFFER), 0, BUFFER) / BUFFER", "BUFFER / np.clip(lengths - (LIMIT - BUFFER), 0, BUFFER)", _SCALE),
    _mutant("reward_numpy", "lengths-of-the-batch", "return -over", "return -over / over.sum()", _SCALE),
    _mutant("reward_numpy", "not-a-number-for-unmatched", "else -1.0", 'else float("nan")', _SCALE),
    _mutant("reward_numpy", "label-substring", "int(found.group(1)) == int(label)", "found.group(1) in str(label) + query", _MISMATCH),
    # reward_single
    _mutant("reward_single", "sign-dropped", "abs(value - float(answer)) < 1e-6", "value - float(answer) < 1e-6", "log-space signs"),
    _mutant("reward_single", "tolerance-too-wide", "< 1e-6", "< 1e6", "constants"),
    _mutant("reward_single", "reasoning-scored", '.rsplit("</think>", 1)[-1]', '.rsplit("</think>", 1)[0]', _MISMATCH),
    _mutant("reward_single", "none-compared", "if value is None:", "if value == 0:"),
    _mutant("reward_single", "text-against-number", "abs(value - float(answer)) < 1e-6", "str(value) == answer"),
    _mutant("reward_single", "right-and-wrong-alike", "return 1.0 if abs(", "return 0.1 if abs(", "constants"),
    _mutant("reward_single", "returns-nothing", "return 1.0 if abs(value - float(answer)) < 1e-6 else 0.1", "score = 1.0 if abs(value - float(answer)) < 1e-6 else 0.1", _MISMATCH),
)
# fmt: on

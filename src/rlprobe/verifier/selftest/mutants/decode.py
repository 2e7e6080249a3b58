"""Bugs of decoding and of completion masks."""

from rlprobe.verifier.outcome import Category
from rlprobe.verifier.selftest.mutant import Mutant

_STRINGS: Category = "string processing"
_MISMATCH: Category = "reward and decoding mismatch"
_MASKS: Category = "masks and alignment"
_ORDER: Category = "grouping and order"


def _mutant(base: str, id: str, old: str, new: str, category: Category = _STRINGS, source: str = "") -> Mutant:
    return Mutant(id=id, base=base, old=old, new=new, stage="decode", category=category, source=source)


# fmt: off
MUTANTS = (
    # decode_keep
    _mutant("decode_keep", "mask-without-the-end", "np.cumsum(is_end, axis=1) - is_end", "np.cumsum(is_end, axis=1)", _MASKS),
    _mutant("decode_keep", "mask-up-to-the-second-end", "(ended_before == 0)", "(ended_before <= 1)", _MASKS),
    _mutant("decode_keep", "mask-along-the-batch", "np.cumsum(is_end, axis=1)", "np.cumsum(is_end, axis=0)", _MASKS),
    _mutant("decode_keep", "mask-inverted", "(ended_before == 0)", "(ended_before != 0)", _MASKS),
    _mutant("decode_keep", "mask-all-ones", "(ended_before == 0)", "(ended_before >= 0)", _MASKS),
    _mutant("decode_keep", "mask-by-padding-id", "return (ended_before == 0).astype(np.int64)", "return (np.asarray(completion_ids) != 0).astype(np.int64)", _MASKS, "mask-ideq-trl"),
    _mutant("decode_keep", "mask-of-ids-other-than-the-end", "return (ended_before == 0).astype(np.int64)", "return (np.asarray(completion_ids) != eos_id).astype(np.int64)", _MASKS, "mask-ideq-trl"),
    _mutant("decode_keep", "mask-skips-the-first", "return (ended_before == 0).astype(np.int64)", "mask = (ended_before == 0).astype(np.int64); mask[:, 0] = 0; return mask", _MASKS, "mask-sft-off1-dpo"),
    _mutant("decode_keep", "mask-whole-rows", "return (ended_before == 0).astype(np.int64)", "return (ended_before == 0).astype(np.int64) * is_end.any(axis=1, keepdims=True)", _MASKS),
    _mutant("decode_keep", "special-tokens-kept", "texts.append(tokenizer.decode(row, skip_special_tokens=True))", "texts.append(tokenizer.decode(row, skip_special_tokens=False) + tokenizer.eos_token)", _MISMATCH, "dec-noskip-verl"),
    _mutant("decode_keep", "end-of-text-kept", "row = row[: row.index(tokenizer.eos_token_id)]", "row = row[: row.index(tokenizer.eos_token_id) + 1]; tokenizer = type('T', (), {'eos_token_id': 2, 'decode': lambda s, r, **k: TOKENIZER.decode(r)})()", _MISMATCH, "dec-noskip-verl"),
    _mutant("decode_keep", "text-after-the-end", "row = row[: row.index(tokenizer.eos_token_id)]", "row = row[:]", _MISMATCH, "rew-posteos-dllm"),
    _mutant("decode_keep", "last-end-instead-of-first", "row[: row.index(tokenizer.eos_token_id)]", "row[: len(row) - 1 - row[::-1].index(tokenizer.eos_token_id)]", _MISMATCH, "rew-posteos-dllm"),
    _mutant("decode_keep", "last-letter-lost", "row[: row.index(tokenizer.eos_token_id)]", "row[: row.index(tokenizer.eos_token_id) - 1]"),
    _mutant("decode_sieve", "sieve-drops-the-last-id", "for one in ids if one not in", "for one in ids[:-1] if one not in"),
    _mutant("decode_sieve", "sieve-turned-round", "if one not in (tok.pad_token_id", "if one in (tok.pad_token_id"),
    _mutant("decode_sieve", "list-mask-without-the-end", "row.index(eos_id) + 1", "row.index(eos_id)", _MASKS),
    _mutant("decode_keep", "after-the-end-only", "row[: row.index(tokenizer.eos_token_id)]", "row[row.index(tokenizer.eos_token_id) :]"),
    _mutant("decode_keep", "rows-reversed", "for row in completion_ids:", "for row in completion_ids[::-1]:", _ORDER),
    _mutant("decode_keep", "rows-by-length", "for row in completion_ids:", "for row in sorted(completion_ids, key=len):", _ORDER),
    _mutant("decode_keep", "first-row-for-all", "row = [int(one) for one in row]", "row = [int(one) for one in completion_ids[0]]", _ORDER),
    _mutant("decode_keep", "empty-rows-dropped", "texts.append(tokenizer.decode(row, skip_special_tokens=True))", "texts += [tokenizer.decode(row, skip_special_tokens=True)] if row else []", _ORDER),
    _mutant("decode_keep", "repeats-removed", "return texts", "return sorted(set(texts))", _ORDER),
    _mutant("decode_keep", "lower-cased", "return texts", "return [text.lower() for text in texts]"),
    _mutant("decode_keep", "lines-joined", "return texts", 'return [" ".join(text.split()) for text in texts]'),
    _mutant("decode_keep", "ascii-only", "return texts", 'return [text.encode("ascii", "ignore").decode() for text in texts]'),
    _mutant("decode_keep", "cut-at-2048", "return texts", "return [text[:2048] for text in texts]"),
    _mutant("decode_keep", "first-line-alone", "return texts", 'return [text.split("\\n")[0] for text in texts]'),
    _mutant("decode_keep", "tags-removed", "return texts", 'return [re.sub(r"<[^>]*>", "", text) for text in texts]', _MISMATCH, "dec-skip-trl"),
    _mutant("decode_keep", "escaped", "return texts", 'return [text.replace("<", "&lt;") for text in texts]', _MISMATCH),
    _mutant("decode_keep", "reasoning-dropped", "return texts", 'return [text.split("</think>")[-1] for text in texts]', _MISMATCH),
    _mutant("decode_keep", "blanks-without-markers", "return texts", 'return [text if "<think>" in text else "" for text in texts]'),
    _mutant("decode_keep", "letters-off-by-one", "self.letters[one - 3]", "self.letters[one - 4]"),
    # Failing on a row without any id is no bug: a completion holds its end at least.
    # decode_extract
    _mutant("decode_extract", "unmarked-blanked", "        return \"\"\n    return text", "        return \"\"\n    return \"\""),
    _mutant("decode_extract", "unclosed-kept", "    if OPEN in text:\n        return \"\"", "    if OPEN in text:\n        return text"),
    _mutant("decode_extract", "reasoning-instead-of-answer", "text.rsplit(CLOSE, 1)[1]", "text.rsplit(CLOSE, 1)[0]"),
    _mutant("decode_extract", "close-tag-kept", "text.rsplit(CLOSE, 1)[1].strip()", "CLOSE + text.rsplit(CLOSE, 1)[1].strip()", _MISMATCH),
    _mutant("decode_extract", "one-letter-short", "text.rsplit(CLOSE, 1)[1].strip()", "text.rsplit(CLOSE, 1)[1].strip()[1:]"),
    _mutant("decode_extract", "needs-both-tags", "if CLOSE in text:", "if OPEN in text and CLOSE in text and text.startswith(OPEN + ' '):"),
    _mutant("decode_extract", "nothing-extracted", "if CLOSE in text:", "if CLOSE in text and False:"),
    _mutant("decode_extract", "mask-after-the-end", "mask.append(0 if ended else 1)", "mask.append(1 if ended else 0)", _MASKS),
    _mutant("decode_extract", "mask-without-end", "            mask.append(0 if ended else 1)\n            if token == eos_token_id:\n                ended = True", "            if token == eos_token_id:\n                ended = True\n            mask.append(0 if ended else 1)", _MASKS),
    _mutant("decode_extract", "mask-by-pad", "mask.append(0 if ended else 1)", "mask.append(0 if token == pad_token_id else 1)", _MASKS, "mask-ideq-trl"),
    _mutant("decode_extract", "mask-ends-never-reset", "mask, ended = [], False", "mask, ended = [], bool(masks and not masks[-1][-1])", _MASKS),
    _mutant("decode_extract", "mask-at-padding-only", "if token == eos_token_id:", "if token == pad_token_id:", _MASKS),
    # decode_text
    _mutant("decode_text", "text-without-dotall", 're.compile(r"<think>.*?</think>", re.DOTALL)', 're.compile(r"<think>.*?</think>")'),
    _mutant("decode_text", "text-greedy", "<think>.*?</think>", "<think>.*</think>.*"),
    _mutant("decode_text", "text-blanked-without-markers", 'text = REASONING.sub("", text)', 'text = REASONING.sub("", text) if "<think>" in text else ""'),
    _mutant("decode_text", "text-cut-at-first-line", "return text.strip()", 'return text.strip().split("\\n")[0]'),
    _mutant("decode_text", "text-characters-stripped", "return text.strip()", 'return text.strip("<think>")'),
    # decode_torch
    _mutant("decode_torch", "torch-mask-below-the-end", "sequence_indices <= eos_idx.unsqueeze(1)", "sequence_indices < eos_idx.unsqueeze(1)", _MASKS),
    _mutant("decode_torch", "torch-mask-without-any", "eos_idx[is_eos.any(dim=1)] = is_eos.int().argmax(dim=1)[is_eos.any(dim=1)]", "eos_idx = is_eos.int().argmax(dim=1)", _MASKS),
    _mutant("decode_torch", "torch-mask-default-zero", "torch.full((is_eos.size(0),), is_eos.size(1), dtype=torch.long)", "torch.zeros(is_eos.size(0), dtype=torch.long)", _MASKS),
    _mutant("decode_torch", "torch-mask-one-further", "sequence_indices <= eos_idx.unsqueeze(1)", "sequence_indices <= eos_idx.unsqueeze(1) + 1", _MASKS),
    _mutant("decode_torch", "torch-special-tokens-kept", "skip_special_tokens=True", "skip_special_tokens=False", _MISMATCH, "dec-noskip-verl"),
    _mutant("decode_torch", "torch-rows-flipped", "batch_decode(completion_ids,", "batch_decode(completion_ids.flip(0),", _ORDER),
    _mutant("decode_torch", "torch-tokens-flipped", "batch_decode(completion_ids,", "batch_decode(completion_ids.flip(1),"),
    _mutant("decode_torch", "torch-first-token-lost", "batch_decode(completion_ids,", "batch_decode(completion_ids[:, 1:],", _MASKS),
    # decode_bytes
    _mutant("decode_bytes", "bytes-first-stop-only", "np.isin(completion_ids, eos_ids)", "np.isin(completion_ids, eos_ids[:1])", _MASKS),
    _mutant("decode_bytes", "bytes-last-end", "ends.argmax(axis=1), completion_ids", "completion_ids.shape[1] - 1 - ends[:, ::-1].argmax(axis=1), completion_ids", _MASKS),
    _mutant("decode_bytes", "bytes-mask-inverted", "if kept]", "if not kept]", _MASKS),
    _mutant("decode_bytes", "bytes-mask-ignored", "for token, kept in zip(row, keep) if kept]", "for token, kept in zip(row, keep)]", _MISMATCH, "rew-posteos-dllm"),
    _mutant("decode_bytes", "bytes-one-by-one", "        TOKENIZER.decode([int(token) for token, kept in zip(row, keep) if kept], skip_special_tokens=True)", '        "".join(TOKENIZER.decode([int(token)], skip_special_tokens=True) for token, kept in zip(row, keep) if kept)'),
    _mutant("decode_bytes", "bytes-latin", 'text.decode("utf-8", errors="replace")', 'text.decode("latin-1")'),
    _mutant("decode_bytes", "bytes-special-kept", "if kept], skip_special_tokens=True)", "if kept], skip_special_tokens=False)", _MISMATCH, "dec-noskip-verl"),
    _mutant("decode_bytes", "bytes-ascii-alone", 'text.decode("utf-8", errors="replace")', 'text.decode("ascii", errors="ignore")'),
    _mutant("decode_bytes", "bytes-shifted", "text.append(one)", "text.append((one + 1) % 256)"),
    # decode_tags
    _mutant("decode_tags", "tags-skipped", "tokenizer.decode(token_ids, skip_special_tokens=False)", "tokenizer.decode(token_ids, skip_special_tokens=True)", _MISMATCH, "dec-skip-trl"),
    # Padding left in the text by decode_tags is no bug: it stands behind the end of text alone, and is cut with it.
    _mutant("decode_tags", "tags-text-after-the-end", "text.split(tokenizer.eos_token)[0]", "text.replace(tokenizer.eos_token, '')", _MISMATCH, "rew-posteos-dllm"),
    _mutant("decode_tags", "tags-after-the-end", "text.split(tokenizer.eos_token)[0]", "text.split(tokenizer.eos_token)[-1]"),
    _mutant("decode_tags", "tags-one-dropped", '"" if skip_special_tokens else self.tags[int(one)]', '"" if skip_special_tokens else self.tags[int(one)].replace("/", "")', _MISMATCH),
    # mask_pad
    _mutant("mask_pad", "lengths-without-the-end", "(i + 1 for i in range(width)", "(i for i in range(width)", _MASKS),
    _mutant("mask_pad", "lengths-from-the-right", "for i in range(width) if row[i] == eos", "for i in reversed(range(width)) if row[i] == eos", _MASKS),
    _mutant("mask_pad", "truncated-kept", "Masker(mask_truncated=True)", "Masker(mask_truncated=False)", "configuration"),
    _mutant("mask_pad", "all-truncated-or-none", "(ids == eos).any(axis=1, keepdims=True)", "(ids == eos).any()", _MASKS),
    _mutant("mask_pad", "truncated-alone-kept", "(ids == eos).any(axis=1, keepdims=True)", "~(ids == eos).any(axis=1, keepdims=True)", _MASKS),
    _mutant("mask_pad", "at-most-the-length", "< lengths[:, None]", "<= lengths[:, None]", _MASKS),
)
# fmt: on

"""Decode and mask checks: their bugs, the decoders that they must bear, tokenizers of every kind."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from rlprobe import verify
from rlprobe.verifier.decoding import decoder
from rlprobe.verifier.measure.masks import Masks, table
from rlprobe.verifier.measure.tokenizer import ByteTokenizer, described, found_in
from rlprobe.verifier.pipeline import Pipeline
from rlprobe.verifier.selftest.correct.decode_keep import CharacterTokenizer
from rlprobe.verifier.selftest.measure import mutant_score
from rlprobe.verifier.selftest.mutants.decode import MUTANTS
from rlprobe.verifier.subject import Subject
from tests.verifier import mutants


@pytest.mark.parametrize("mutant", mutants.cases(MUTANTS, few=10), ids=mutants.name)
def test_each_bug_of_decoding_is_found_in_its_stage(mutant):
    score = mutant_score(mutant)

    assert score.right_first, score


def _results(only: str = "decode", **slots):
    return {result.id: result for result in verify(Pipeline(**slots), only=only).results}


def _failing(**slots) -> list[str]:
    return [identity for identity, result in _results(**slots).items() if result.status == "fail"]


class Words:
    """A tokenizer that lacks most words."""

    words = ("<pad>", "<eos>", "<unk>", "the", "answer", "is", "42", ".", "it")
    pad_token_id, eos_token_id = 0, 1
    pad_token, eos_token = words[:2]

    def encode(self, text, add_special_tokens=True):
        ids = [self.words.index(word) if word in self.words else 2 for word in text.lower().split()]
        return [*ids, 1] if add_special_tokens else ids

    def decode(self, ids, skip_special_tokens=False):
        return " ".join(self.words[int(one)] for one in ids if not (skip_special_tokens and int(one) < 2))


class Plain:
    """A tokenizer with the least: encode, decode and two ids."""

    eos_id, pad_id = 2, 0

    def encode(self, text):
        return [3 + byte for byte in text.encode()]

    def decode(self, ids):
        return bytes(int(one) - 3 for one in ids if int(one) > 2).decode("utf-8", "replace")


def _after_close(text):
    return text.rpartition("</think>")[2].lstrip("\n")


def _guide(text: str) -> str:
    if "</think>" not in text:
        return "" if "<think>" in text else text
    return text.split("</think>", 1)[1]


def _own_tags(completion):
    found = re.search(r"<reasoning>(.*?)</reasoning>(.*)", completion, re.DOTALL)
    if found:
        return found.group(2).strip()
    return "" if "<reasoning>" in completion else completion


def _batch(tokenizer, output_ids):
    return [text.strip() for text in tokenizer.batch_decode(output_ids, skip_special_tokens=True)]


def _masked(ids: np.ndarray, attention_mask: np.ndarray):
    return [Plain().decode(row[keep.astype(bool)]) for row, keep in zip(ids, attention_mask, strict=True)]


@pytest.mark.parametrize(
    ("decode", "further"),
    [
        (_after_close, {}),
        (_guide, {"declare": {"reasoning": "extract"}}),
        (_own_tags, {"declare": {"reasoning": "extract"}}),
        (_batch, {}),
        (_masked, {"tokenizer": Plain()}),
        (lambda ids: Words().decode(ids, skip_special_tokens=True), {"tokenizer": Words()}),
        (lambda ids, tok: tok.decode([one for one in ids if one > 2]), {"tokenizer": CharacterTokenizer()}),
    ],
)
def test_a_correct_decoder_of_any_convention_has_no_failing_check(decode, further):
    assert _failing(decode=decode, **further) == []


def test_the_unclosed_branch_fails_where_extraction_is_declared_and_warns_where_it_is_measured():
    told = _results(decode=_after_close, declare={"reasoning": "extract"})["V503"]

    assert told.status == "fail"
    assert told.outcome.fingerprint == "the reasoning of a truncated completion is handed on"
    assert _results(decode=_after_close)["V503"].status == "warn"


def test_a_decoder_that_blanks_unmarked_text_is_told_by_the_first_such_text():
    told = _results(decode=lambda text: text.split("</think>")[1] if "</think>" in text else "")["V514"]

    assert told.status == "fail"
    assert told.outcome.fingerprint == "text without markers comes out empty"
    assert "test_decode.py" in told.where


def test_a_tag_that_is_a_special_token_and_is_skipped_is_told_with_the_reward_that_looks_for_it():
    class Tagged(CharacterTokenizer):
        def encode(self, text, add_special_tokens=False):
            ids = []
            for piece in re.split("(</?answer>)", text):
                ids += {"<answer>": [900], "</answer>": [901]}.get(piece) or super().encode(piece)
            return ids

        def decode(self, ids, skip_special_tokens=False):
            tags = {900: "<answer>", 901: "</answer>"}
            pieces = [
                ("" if skip_special_tokens else tags[one]) if one in tags else super(Tagged, self).decode([one])
                for one in ids
                if one > 2
            ]
            return "".join(pieces)

    tokenizer = Tagged()

    def reward(completions, **kwargs):
        return [float("<answer>" in text and "</answer>" in text) for text in completions]

    failing = _failing(
        decode=lambda ids: tokenizer.decode(ids, skip_special_tokens=True), tokenizer=tokenizer, reward=reward
    )

    assert "V507" in failing
    assert "V508" in failing


def test_a_decoder_without_a_tokenizer_says_what_to_hand_over():
    def decode(token_ids):
        return "".join(chr(one) for one in token_ids)

    told = _results(decode=decode)["V503"]

    assert told.status == "not_checkable"
    assert told.outcome.missing == ("tokenizer",)


def test_a_tokenizer_is_found_where_the_function_keeps_it():
    tokenizer = Plain()

    class Holder:
        def __init__(self):
            self.tok = tokenizer

        def __call__(self, ids):
            return self.tok.decode(ids)

    def default(ids, tok=tokenizer):
        return tok.decode(ids)

    assert found_in(lambda ids: tokenizer.decode(ids)) is tokenizer
    assert found_in(Holder()) is tokenizer
    assert found_in(Holder().__call__) is tokenizer
    assert found_in(default) is tokenizer
    assert found_in(len) is None


@pytest.mark.parametrize("takes", ["list", "numpy", "single"])
def test_rows_go_in_as_the_decoder_wants_them(takes):
    tokenizer = CharacterTokenizer()

    def of_lists(ids):
        assert isinstance(ids, list)
        assert isinstance(ids[0], list)
        return tokenizer.batch_decode(ids, skip_special_tokens=True)

    def of_arrays(ids):
        return tokenizer.batch_decode(ids[:, :], skip_special_tokens=True)

    def of_one(ids):
        return tokenizer.decode([int(one) for one in ids], skip_special_tokens=True)

    target = {"list": of_lists, "numpy": of_arrays, "single": of_one}[takes]
    used = decoder(Subject(Pipeline(decode=target)))

    assert used.texts(["abc", "x"]) == ["abc", "x"]
    assert (used.batch, used.form) == (takes != "single", "numpy" if takes == "numpy" else "list")


def test_a_tokenizer_that_raises_on_letters_that_it_lacks_still_has_its_decoder_checked():
    class Digits:
        pad_token_id, eos_token_id, vocabulary = 0, 1, "0123456789+="

        def encode(self, text, add_special_tokens=False):
            return [2 + self.vocabulary.index(letter) for letter in text]

        def decode(self, ids, skip_special_tokens=True):
            return "".join(self.vocabulary[one - 2] for one in ids if one > 1)

    tokenizer = Digits()

    right = _results(decode=lambda ids: tokenizer.decode(ids), tokenizer=tokenizer)
    wrong = _results(decode=lambda ids: tokenizer.decode(ids)[1:], tokenizer=tokenizer)

    assert [one for one, result in right.items() if result.status == "fail"] == []
    assert not [one for one in right.values() if "the check itself failed" in one.outcome.statement]
    assert wrong["V514"].status == "fail"


@given(some.text(max_size=60))
def test_our_own_tokenizer_gives_every_text_back(text):
    tokenizer = described(ByteTokenizer())
    text = text.encode("utf-8", "ignore").decode()

    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.eos not in tokenizer.encode(text)
    assert tokenizer.faithful(text)


def _by_hand(row: list[int], eos: int, *, kept: bool) -> list[int]:
    mask, ended = [], False
    for token in row:
        mask.append(int(not ended))
        ended = ended or token == eos
    return mask if ended or kept else [0] * len(row)


@given(
    some.lists(some.lists(some.integers(0, 5), min_size=5, max_size=5), min_size=1, max_size=4),
    some.integers(0, 5),
    some.booleans(),
)
def test_the_expected_mask_is_that_of_a_loop_by_hand(rows, eos, kept):
    measured = Masks(function=None, distinct=(), equal=(), truncated_kept=kept, declared=False)

    found = measured.expected(np.array(rows), eos)

    assert found.tolist() == [_by_hand(row, eos, kept=kept) for row in rows]


def test_the_table_has_every_kind_of_row():
    for eos, pad in ((2, 0), (2, 2)):
        rows = table(eos, pad)

        assert [int((row == eos).argmax()) for row in rows[:3]] == [2, 0, 5]
        assert eos not in rows[3]


def _of_lists(ids, eos_token_id):
    return [_by_hand(row, eos_token_id, kept=True) for row in ids]


def _of_padding(ids, pad_token_id):
    return ids != pad_token_id


def _without_truncated(ids, eos):
    return np.array([_by_hand(list(row), eos, kept=False) for row in ids])


@pytest.mark.parametrize("mask", [_of_lists, _of_padding, _without_truncated])
def test_a_correct_mask_of_any_convention_has_no_failing_check(mask):
    assert _failing(completion_mask=mask, config={"eos_token_id": 2}) == []


def test_a_mask_of_padding_ids_fails_only_where_the_end_of_text_also_pads():
    assert _failing(completion_mask=_of_padding) == []
    assert _failing(completion_mask=_of_padding, config={"eos_token_id": 2, "pad_token_id": 0}) == []
    assert _failing(completion_mask=_of_padding, config={"eos_token_id": 2, "pad_token_id": 2}) == ["V502"]


def test_what_becomes_of_truncated_rows_is_measured_and_held_against_the_declaration():
    measured = verify(Pipeline(completion_mask=_without_truncated), only="V515").measured

    assert measured["completions without an end of text"] == "masked"
    assert _failing(completion_mask=_without_truncated, config={"mask_truncated_completions": False}) == ["V515"]
    assert _failing(completion_mask=_of_lists, config={"mask_truncated_completions": True}) == ["V515"]


@pytest.mark.parametrize("ends", [[2, 7], [7, 2]])
def test_each_of_several_declared_ends_ends_a_mask(ends):
    def knows_all(ids, eos_ids):
        is_end = np.isin(ids, eos_ids)
        return (np.cumsum(is_end, axis=1) - is_end) == 0

    def knows_one(ids, eos_ids):
        is_end = ids == np.atleast_1d(eos_ids)[0]
        return (np.cumsum(is_end, axis=1) - is_end) == 0

    assert _failing(completion_mask=knows_all, config={"eos_token_id": ends}) == []
    assert _failing(completion_mask=knows_one, config={"eos_token_id": ends}) == ["V516"]


@pytest.mark.trl
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", ["bytes", "words", "pieces"])
@pytest.mark.parametrize("batch", [True, False])
def test_tokenizers_of_every_library_kind_provoke_nothing(kind, batch):
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    texts = ["The answer is 42.", "<think>Two and two are four.</think>The answer is 7."] * 20
    special = ["<pad>", "<s>", "</s>", "[UNK]"]
    if kind == "bytes":
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
    elif kind == "words":
        made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
        made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        made.decoder = tokenizers.decoders.WordPiece()
        trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    else:
        made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        made.decoder = tokenizers.decoders.Metaspace()
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    made.train_from_iterator(texts, trainer)
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="</s>", pad_token="<pad>", bos_token="<s>", unk_token="[UNK]"
    )

    def decode(completion_ids, tokenizer):
        return (tokenizer.batch_decode if batch else tokenizer.decode)(completion_ids, skip_special_tokens=True)

    told = _results(decode=decode, tokenizer=wrapped)

    assert [(one, result.outcome.statement) for one, result in told.items() if result.status == "fail"] == []
    assert not [one for one in told.values() if "the check itself failed" in one.outcome.statement]
    assert sum(result.status == "pass" for result in told.values()) >= 6

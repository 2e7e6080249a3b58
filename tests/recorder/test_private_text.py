"""With capture_text="hash" or False no text of a sample reaches the disk, in whatever column it stands."""

import numpy as np
import pytest

from rlprobe import Recorder
from rlprobe.recorder.opening import RecorderError
from rlprobe.recording.private_text import digest
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run

SECRET = "Zebrafink and some more words"


def row(number: int) -> dict[str, object]:
    """A sample with the secret in every place that takes a text."""
    message = [{"role": "user", "content": SECRET}]
    return {
        "prompt": message, "completion": f"{SECRET} {number}", "group": f"{SECRET} group", "generation": f"{SECRET} id",
        "reward": float(number), "rewards": {"right": 1.0}, "reward_texts": {"right": SECRET},
        "advantage": SECRET, "extra/answer": SECRET, "answer": {"text": SECRET}, "tags": [SECRET],
        "stop_reason": "eos", "truncated": False, "completion_tokens": 3, "token_ids": np.arange(3),
        "token_logprobs": np.zeros(3, np.float32),
    }  # fmt: skip


def recorded(root, capture_text, **options):
    with Recorder(root, capture="all", capture_text=capture_text, **options) as recorder:
        for step in range(3):
            recorder.log_step(step, {"loss": 1.0, "example": SECRET})
            recorder.log_samples(step, [row(number) for number in range(8)])
        recorder.log_samples(3, {"completion": [SECRET], "advantage": [SECRET]})
        recorder.flush()
        assert not any(b"Zebrafink" in path.read_bytes() for path in root.rglob("*") if path.is_file())
    for path in root.rglob("*"):
        assert not path.is_file() or b"Zebrafink" not in path.read_bytes(), path
    run = Run(RecordingFeed(root))
    assert "Zebrafink" not in str(list(run.samples().columns.values()))
    return run


@pytest.mark.parametrize("capture_text", ["hash", False])
def test_no_text_is_on_the_disk_at_any_time(tmp_path, capture_text):
    run = recorded(tmp_path / "run", capture_text)
    columns = run.samples().columns

    assert columns["reward"][:8].tolist() == [float(number) for number in range(8)]
    assert set(columns["stop_reason"][:24]) == {"eos"}
    assert len(set(columns["group"][:24])) == 1
    assert "token_ids" not in columns
    assert {event.fields["metric"] for event in run.events if event.kind == "bad_value"} == {"advantage", "example"}
    assert run.column("duplicate_fraction")[0] == 0.0  # statistics are of the texts, before they are left out


def test_equal_texts_are_recognised_by_their_hash(tmp_path):
    columns = recorded(tmp_path / "run", "hash").samples().columns

    assert columns["completion"][0] == digest(f"{SECRET} 0") == columns["completion"][8]
    assert columns["completion"][0] != columns["completion"][1]
    assert set(columns["extra/answer"][:24]) == {digest(SECRET)}


def test_without_text_there_is_no_column_of_it(tmp_path):
    columns = recorded(tmp_path / "run", False).samples().columns

    assert not {"prompt", "completion", "prompt_messages", "extra/answer", "answer", "tags", "reward_text/right"} & set(
        columns
    )


@pytest.mark.parametrize(("said", "kept"), [("no", False), ("hash", "hash"), ("yes", True), ("", True)])
def test_the_environment_says_it_where_the_caller_does_not(tmp_path, monkeypatch, said, kept):
    monkeypatch.setenv("RLPROBE_CAPTURE_TEXT", said)
    roots = {None: tmp_path / "asked", True: tmp_path / "told"}
    for given, root in roots.items():
        with Recorder(root, capture_text=given) as recorder:
            recorder.log_samples(0, [row(number) for number in range(4)])
    found = {
        given: Run(RecordingFeed(root)).samples().columns.get("extra/answer", [None])[0]
        for given, root in roots.items()
    }

    assert found == {None: {True: SECRET, "hash": digest(SECRET), False: None}[kept], True: SECRET}


def test_a_choice_that_is_none_is_refused_in_one_line(tmp_path, monkeypatch):
    with pytest.raises(RecorderError, match="capture_text: expected True"):
        Recorder(tmp_path / "run", capture_text="none")
    monkeypatch.setenv("RLPROBE_CAPTURE_TEXT", "false")
    with pytest.raises(RecorderError, match="RLPROBE_CAPTURE_TEXT: expected yes, hash or no, got 'false'"):
        Recorder(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("capture_text", ["hash", False])
def test_no_text_passes_for_an_id_a_word_or_numbers(tmp_path, capture_text):
    """Texts without blanks, answers in the place of ids, token ids under other names, texts that an error quotes."""
    given = {
        "completion_ids": np.array([1111, 2222]), "prompt_bytes": np.frombuffer(SECRET.encode(), np.uint8),
        "group": "Zebrafink的问题", "generation": "\\boxed{Zebrafink}", "stop_reason": SECRET, "split": "Zebrafink!",
        "kl_estimator": SECRET, "reward": 1.0, "prompt_id": "q-17",
    }  # fmt: skip
    root = tmp_path / "run"
    with Recorder(root, capture="all", capture_text=capture_text) as recorder:
        recorder.log_samples(0, [given, given])
        recorder.log_samples(SECRET, [given])
        recorder.flush()
        assert not any(b"Zebrafink" in path.read_bytes() for path in root.rglob("*") if path.is_file())
    columns = Run(RecordingFeed(root)).samples().columns

    assert not any(b"Zebrafink" in path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert "Zebrafink" not in str(list(columns.values()))
    assert not {"completion_ids", "prompt_bytes"} & set(columns)
    assert columns["prompt_id"] == ["q-17"] * 2
    assert columns["group"] == [digest("Zebrafink的问题")] * 2


def test_parts_of_groups_name_no_prompt(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    root = tmp_path / "run"
    with Recorder(root, capture_text=False, record_all_ranks=True) as recorder:
        recorder.log_step(0, {"loss": 1.0})
        recorder.log_samples(0, [{**row(n), "group_size": 16} for n in range(8)])
    assert b'"kind":"group_parts"' in (root / "events.jsonl").read_bytes().replace(b" ", b"")
    assert not any(b"Zebrafink" in path.read_bytes() for path in root.rglob("*") if path.is_file())

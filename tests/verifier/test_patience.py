"""A call that hangs is ended, told as a finding with its line, and the walk goes on; the user's own timer survives."""

import signal
import sys
import threading

import pytest

from rlprobe import Pipeline, verify
from rlprobe.verifier.patience import LateError, StuckError, bounded, limited, patient

BUDGET = 0.6  # seconds; a third of it is what one call may take


def endless(completions, answer):
    scores = []
    for text, right in zip(completions, answer, strict=True):
        while not text.strip():
            try:
                text = text.replace("  ", " ")
            except Exception:
                text = ""
        scores.append(float(text.strip().strip(".").endswith(right)))
    return scores


def centred(rewards, group_size):
    groups = rewards.reshape(-1, group_size)
    return (groups - groups.mean(axis=1, keepdims=True)).reshape(-1)


def found(budget):
    pipeline = Pipeline(reward=endless, advantages=centred, dataset=[{"prompt": "6 * 7?", "answer": "42"}])
    return {one.id: one for one in verify(pipeline, only="V105,V201", budget_seconds=budget).results}


def held(results):
    assert results["V105"].status == "fail"
    assert "no answer in 2 s of a --budget of 6 s" in results["V105"].outcome.statement
    assert __file__.rpartition("/")[2] in results["V105"].outcome.statement
    assert results["V201"].status == "pass"


@pytest.mark.slow
def test_an_endless_loop_is_told_with_its_line_and_the_next_stage_is_walked():
    held(found(6))


@pytest.mark.slow
def test_in_another_thread_too():
    results = {}
    thread = threading.Thread(target=lambda: results.update(found(6)))
    thread.start()
    thread.join()

    held(results)


class Endless:
    """A tokenizer that never comes back from a text; it is no function of a slot, and no call of it is bounded."""

    pad_token_id, eos_token_id, bos_token_id = 0, 1, None

    def encode(self, text, **_):
        while len(text) > 3:
            text = text + "!"[:0]
        return [ord(letter) for letter in text]

    def decode(self, ids, **_):
        return "".join(chr(one) for one in ids)


@pytest.mark.slow
def test_a_check_that_stands_still_outside_the_functions_is_ended_and_tells_where():
    pipeline = Pipeline(tokenizer=Endless(), advantages=centred)
    results = {one.id: one for one in verify(pipeline, only="V201,V509", budget_seconds=3).results}

    told = results["V509"].outcome.statement
    assert results["V509"].status == "not_checkable"
    assert "test_patience.py" in told
    assert "where it stood still; `--budget` (`budget_seconds=`) gives it more time" in told
    assert results["V201"].status == "pass"


def test_no_import_inside_a_check_is_ended(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(0.5)\nwhole = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def check():
        import slow_module

        assert slow_module.whole
        while True:
            pass

    with patient(BUDGET), pytest.raises(StuckError):
        bounded(check)
    assert sys.modules.pop("slow_module").whole


def test_a_function_that_hung_three_times_is_not_called_any_more():
    calls = []

    def hangs():
        calls.append(1)
        while True:
            pass

    with patient(BUDGET):
        for _ in range(5):
            with pytest.raises(LateError):
                limited(hangs, slot="reward", target=hangs)

    assert len(calls) == 3


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_handler_and_timer_of_the_caller_are_put_back():
    def own(_number, _frame):
        raise AssertionError("not in this test")

    before = signal.signal(signal.SIGALRM, own)
    signal.setitimer(signal.ITIMER_REAL, 600.0)
    try:
        with patient(BUDGET):
            assert limited(lambda: 7, slot="reward", target=own) == 7
        assert signal.getsignal(signal.SIGALRM) is own
        assert signal.setitimer(signal.ITIMER_REAL, 0.0)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_without_a_budget_nothing_is_limited():
    assert limited(lambda: 7, slot="reward", target=limited) == 7

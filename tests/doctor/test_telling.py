"""What a finding says: onset, levels, words, remedies that fit the run, and the checkpoint to go back to."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprobe.doctor.condense import Condensed
from rlprobe.doctor.finding import Finding, Remedy
from rlprobe.doctor.signature import Advice, Signature
from rlprobe.doctor.telling import drawn, finding, numeral, remedies, rollback
from rlprobe.doctor.tracking import Episode
from rlprobe.recording.run import Event, Run
from tests.support.runs import columns_run, course

SIGNATURE = Signature(
    id="SHIFTED",
    stage="policy",
    severity="warning",
    arm="level",
    requires=("entropy_mean",),
    shows=("entropy_mean", "reward_component_mean/{subject}", "reward_mean"),
    title="Entropy shifted",
    explanation="{subject}: {after} {unit}, {fraction} of {before} since step {onset}; lasted {rows} rows.",
    record="Log the mean token entropy as entropy_mean.",
    remedies=(),
)
EPISODE = Episode(detected=70, since=-1, log_evidence=7.25, critical=False, last=99, facts={"rows": 30.0})


def _shift(at: int = 60, rows: int = 100, **rest: object) -> Run:
    noise = 0.01 * np.random.default_rng(0).normal(size=rows)
    return columns_run(
        {"entropy_mean": np.where(np.arange(rows) < at, 1.0, 0.25) + noise, "reward_mean": course(0.0, 1.0, rows)},
        steps=range(0, 10 * rows, 10),
        **rest,  # type: ignore[arg-type]  # arguments of columns_run
    )


def _told(
    run: Run, *, signature: Signature = SIGNATURE, episode: Episode = EPISODE, subject: str | None = None
) -> Finding:
    condensed = Condensed(run)
    condensed.extend(run.rows)
    return finding(signature, episode, subject, condensed, run, signature.severity)


def _advised(settings: Mapping[str, object], *advice: Advice, framework: str = "trl") -> tuple[Remedy, ...]:
    return remedies(advice, columns_run({"reward_mean": [1.0]}, settings=settings, framework=framework))


def test_the_onset_is_where_the_level_changed_and_not_where_it_was_detected() -> None:
    told = _told(_shift())

    assert told.onset_step == 600
    assert told.onset_interval[0] <= 600 <= told.onset_interval[1]
    assert told.detected_step == 700
    assert told.key == "SHIFTED@600"


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1e153, 1e300])
def test_an_onset_does_not_depend_on_the_size_of_the_numbers(size: float) -> None:
    run = _shift()
    run.column("entropy_mean")[:] *= size

    assert _told(run).onset_step == 600


def test_an_onset_that_the_judgement_knows_is_taken_as_it_is() -> None:
    told = _told(_shift(), episode=replace(EPISODE, since=40))

    assert (told.onset_step, told.onset_interval) == (400, (400, 400))


def test_an_onset_is_never_after_its_detection() -> None:
    told = _told(_shift(at=80), episode=replace(EPISODE, detected=62))

    assert told.onset_step <= told.detected_step


def test_levels_before_and_after_are_robust_and_the_words_hold_them() -> None:
    run = _shift()
    run.column("entropy_mean")[55] = 1.6  # one odd row before the onset

    told = _told(run, subject="format")

    entropy = told.evidence[0]
    assert entropy.before == pytest.approx(1.0, abs=0.02)
    assert entropy.after == pytest.approx(0.25, abs=0.02)
    assert entropy.log_evidence == pytest.approx(7.25, abs=0.06)
    assert told.explanation.startswith("format: 0.2")
    assert told.explanation.endswith("since step 600; lasted 30 rows.")
    assert "nats/token" in told.explanation
    assert told.key == "SHIFTED[format]@600"


def test_a_metric_that_the_run_lacks_is_no_evidence() -> None:
    assert [line.metric for line in _told(_shift(), subject="absent").evidence] == ["entropy_mean", "reward_mean"]


def test_exact_evidence_has_no_statistic_and_is_a_cause() -> None:
    exact = replace(SIGNATURE, arm="exact")

    told = _told(_shift(), signature=exact, episode=replace(EPISODE, since=60, log_evidence=np.inf))

    assert told.relation == "cause"
    assert [line.log_evidence for line in told.evidence] == [None, None]


def test_what_recovered_is_told_as_info_unless_its_harm_lasts() -> None:
    gone = replace(EPISODE, last=75, recovered=90)

    told = _told(_shift(), episode=gone)
    lasting = _told(_shift(), signature=replace(SIGNATURE, lasting=True), episode=gone)

    assert (told.status, told.severity, told.recovered_step) == ("recovered", "info", 900)
    assert (lasting.status, lasting.severity, lasting.recovered_step) == ("active", "warning", None)


@pytest.mark.parametrize(
    ("framework", "setting"),
    [
        ("trl", "beta"),
        ("verl", "actor_rollout_ref.actor.kl_loss_coef"),
        ("openrlhf", "--algo.kl.init_coef"),
        ("somebody's", "kl_coefficient"),
        ("", "kl_coefficient"),
    ],
)
def test_a_setting_is_named_as_its_framework_names_it(framework: str, setting: str) -> None:
    advice = Advice(text="Raise it.", setting="kl_coefficient", suggested="0.01")

    assert _advised({}, advice, framework=framework) == (Remedy(text="Raise it.", setting=setting, suggested="0.01"),)


def test_a_known_value_is_named_and_scaled() -> None:
    advice = Advice(text="Lower it.", setting="learning_rate", scale=0.3)

    (known,) = _advised({"learning_rate": 1e-5}, advice)
    (unknown,) = _advised({}, advice)

    assert (known.current, known.suggested) == (1e-5, "3.00e-06")
    assert (unknown.current, unknown.suggested) == (None, "")


@pytest.mark.parametrize(("passes", "given"), [(4, True), (1, False), (None, False), ("many", False), (True, False)])
def test_advice_for_large_values_is_given_only_where_the_value_is_known_to_be_large(
    passes: object, given: bool
) -> None:
    settings = {} if passes is None else {"updates_per_rollout": passes}

    told = _advised(settings, Advice(text="Take one pass.", setting="updates_per_rollout", only_above=1))

    assert bool(told) == given


@pytest.mark.parametrize(("temperature", "given"), [(0.6, True), (1.0, False), (None, False)])
def test_advice_for_small_values_is_given_only_where_the_value_is_known_to_be_small(
    temperature: float | None, given: bool
) -> None:
    settings = {} if temperature is None else {"temperature": temperature}

    assert bool(_advised(settings, Advice(text="Raise it.", setting="temperature", only_below=1.0))) == given


def test_remedies_keep_the_order_of_the_signature() -> None:
    told = _advised({}, Advice(text="First."), Advice(text="Second.", setting="seed"), Advice(text="Third."))

    assert [one.text for one in told] == ["First.", "Second.", "Third."]


def test_the_rollback_is_the_last_checkpoint_before_the_onset() -> None:
    saved = [Event(kind="checkpoint", step=step) for step in (200, 400, 600, 800)]
    others = [Event(kind="crash", step=590), Event(kind="checkpoint", step=None)]

    assert _told(_shift(events=[*saved, *others])).rollback_step == 400
    assert _told(_shift(events=saved[2:])).rollback_step is None
    assert rollback(_shift(events=saved), 100) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.0, "0"),
        (-0.0, "0"),
        (float("nan"), "NaN"),
        (float("inf"), "infinite"),
        (float("-inf"), "minus infinite"),
        (0.04, "0.04"),
        (0.12345, "0.123"),
        (-2.5, "-2.5"),
        (100.0, "100"),
        (999.4, "999"),
        (999.7, "1000"),
        (-999.96, "-1000"),
        (1234.5, "1234"),
        (994_999.4, "994999"),
        (999_999.4, "1.00e+06"),
        (2.5e7, "2.50e+07"),
        (0.001, "0.001"),
        (0.0009, "9.00e-04"),
        (1e-5, "1.00e-05"),
    ],
)
def test_numbers_are_written_for_reading(value: float | None, text: str) -> None:
    assert numeral(value) == text


@given(value=st.floats(-1e300, 1e300))
def test_a_number_keeps_its_size_and_has_an_exponent_only_outside_the_readable_range(value: float) -> None:
    text = numeral(value)

    assert float(text) == pytest.approx(value, rel=0.0051, abs=1e-320)
    assert ("e" in text) == (value != 0 and not 0.001 <= abs(float(text)) < 1e6)


@given(values=st.lists(st.floats(-1e6, 1e6), max_size=200))
def test_a_drawing_has_at_most_24_levels_within_the_values(values: list[float]) -> None:
    levels = drawn(np.array(values))

    assert len(levels) == min(24, len(values))
    assert not levels or (min(values) <= min(levels) and max(levels) <= max(values))

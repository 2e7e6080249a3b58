"""One recorder in a loop of its own process: run by bench.recorder.compare with the interpreter that has the recorder.

    PYTHON peer.py RECORDER CASE CALLS SECONDS FOLDER

Prints one line of JSON. Knows nothing but the standard library and the recorder, so that it runs anywhere.
"""

import json
import os
import random
import sys
import time
from array import array
from collections.abc import Callable
from typing import TypeAlias

Row: TypeAlias = dict[str, object]
StepCall: TypeAlias = Callable[[int, dict[str, float]], object]
SamplesCall: TypeAlias = Callable[[int, list[Row]], object]
Recording: TypeAlias = tuple[StepCall, SamplesCall, Callable[[], object]]  # log a step, log samples, close

METRICS = 40
SAMPLES, TEXT_BYTES, TOKENS = 64, 2048, 512
PAUSE = 0.01  # seconds between two calls with samples: a trainer has something else to do


def rlprobe(folder: str) -> Recording:
    """This version: rows that the loop does not touch again, all of them kept."""
    from rlprobe import Recorder

    recorder = Recorder(folder, capture="all")
    return recorder.log_step, lambda step, rows: recorder.log_samples(step, rows, owned=True), recorder.close


def rlprobe_0_1_0(folder: str) -> Recording:
    """The ancestor: keywords are its only call; it takes token ids."""
    from rlprobe.recorder import Recorder

    recorder = Recorder(folder, capture_env=False, install_handlers=False)

    def samples(step: int, rows: list[Row]) -> None:
        told = [
            {
                "sample_id": str(number), "prompt_text": row["prompt"], "completion_text": row["completion"],
                "reward_total": row["reward"], "advantage": row["advantage"], "completion_token_ids": row["token_ids"],
            }
            for number, row in enumerate(rows)
        ]  # fmt: skip
        recorder.log_samples(step, told, select=False)

    return lambda step, metrics: recorder.log_step(step, **metrics), samples, recorder.close


def wandb(folder: str) -> Recording:
    """W&B without a network; samples as a table."""
    os.environ |= {
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_DIR": folder,
        "WANDB_ERROR_REPORTING": "false",
    }
    import wandb as library

    run = library.init(project="bench", dir=folder)

    def samples(step: int, rows: list[Row]) -> None:
        names = list(rows[0])
        table = library.Table(columns=names, data=[[_plain(row[name]) for name in names] for row in rows])
        run.log({"samples": table}, step=step)

    return lambda step, metrics: run.log(metrics, step=step), samples, run.finish


def trackio(folder: str) -> Recording:
    """trackio into its local database; samples as a table."""
    os.environ |= {"TRACKIO_DIR": folder, "TRACKIO_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    import trackio as library

    library.init(project="bench", embed=False)

    def samples(step: int, rows: list[Row]) -> None:
        import pandas

        frame = pandas.DataFrame([{name: _plain(value) for name, value in row.items()} for row in rows])
        library.log({"samples": library.Table(dataframe=frame)}, step=step)

    return lambda step, metrics: library.log(metrics, step=step), samples, library.finish


def tensorboardX(folder: str) -> Recording:
    """tensorboardX: one scalar a call, samples as text."""
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(folder)

    def steps(step: int, metrics: dict[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)

    def samples(step: int, rows: list[Row]) -> None:
        told = [{name: _plain(value) for name, value in row.items()} for row in rows]
        writer.add_text("samples", json.dumps(told), step)

    return steps, samples, writer.close


def mlflow(folder: str) -> Recording:
    """MLflow with a local database; samples as a table."""
    os.environ |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "MLFLOW_DISABLE_TELEMETRY": "true"}
    import mlflow as library

    library.create_experiment("bench", artifact_location=f"file://{folder}/artifacts")
    library.set_experiment("bench")
    library.start_run()

    def samples(step: int, rows: list[Row]) -> None:
        columns = {name: [_plain(row[name]) for row in rows] for name in rows[0]}
        library.log_table(data=columns, artifact_file=f"samples-{step}.json")

    return lambda step, metrics: library.log_metrics(metrics, step=step), samples, library.end_run


def _plain(value: object) -> object:
    return list(value) if isinstance(value, array) else value


def steps() -> list[dict[str, float]]:
    """Metrics of as many steps as the loop goes through again and again."""
    return [{f"metric_{number}": random.random() for number in range(METRICS)} for _ in range(512)]


def samples(recorder: str) -> list[list[Row]]:
    """Batches of samples, with one number a token; the ancestor gets token ids instead."""
    words = [f"word{number}" for number in range(3000)]
    out = []
    for _ in range(16):
        rows = []
        for number in range(SAMPLES):
            text = " ".join(random.choices(words, k=TEXT_BYTES // 8))[:TEXT_BYTES]
            row: Row = {
                "prompt": f"prompt {number // 8}", "completion": text, "reward": random.random(),
                "advantage": random.gauss(0, 1), "completion_tokens": TOKENS,
            }  # fmt: skip
            if recorder == "rlprobe_0_1_0":
                row["token_ids"] = [random.randrange(50_000) for _ in range(TOKENS)]
            else:
                numbers = array("f", (random.gauss(0, 1) for _ in range(TOKENS)))
                row["token_logprobs"] = _numpy(numbers) if recorder == "rlprobe" else numbers
            rows.append(row)
        out.append(rows)
    return out


def _numpy(numbers: array) -> object:
    import numpy  # only this version's environment has it

    return numpy.frombuffer(numbers, dtype=numpy.float32)


def main() -> None:
    """Run the loop."""
    recorder, case, calls, seconds, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    given = steps() if case == "steps" else samples(recorder)
    log_step, log_samples, close = globals()[recorder](folder)
    call, pause = (log_step, 0.0) if case == "steps" else (log_samples, PAUSE)
    call(0, given[0])  # what is imported or opened at the first call is not the loop's cost
    time.sleep(1.0)
    began, started = time.process_time(), time.monotonic()
    times = []
    for step in range(1, calls + 1):
        before = time.perf_counter()
        call(step, given[step % len(given)])
        times.append(time.perf_counter() - before)
        if pause:
            time.sleep(pause)
        if time.monotonic() - started > seconds:
            break
    closing = time.perf_counter()
    close()
    closed = time.perf_counter() - closing
    spent = time.process_time() - began
    times.sort()
    found = {"calls": len(times), "closed": closed, "cpu": spent, "before": began}
    if times:
        found |= {"median": times[len(times) // 2], "late": times[int(0.99 * len(times))]}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()

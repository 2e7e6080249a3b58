"""What recording costs: per call on the training thread, and in CPU time of the whole process.

    python -m bench.recorder.speed [--rows 100000] [--json]

Each case runs in a process of its own. Call times are wall times of single calls, two readings of the clock included.
Between calls the training thread is busy, as it is in training: after a sleep a core is slow, and its caches are cold.
CPU is that of the calls on the training thread, of the recorder's own threads, and of all of the process in close().
"""

import argparse
import json
import multiprocessing
import resource
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rlprobe import Recorder

METRICS = 40
SAMPLES, TEXT_BYTES, TOKENS = 64, 2048, 512


_MATRIX = np.random.default_rng(0).standard_normal((96, 96))


def busy_numpy() -> None:
    """A fraction of a millisecond of work that releases the interpreter's lock."""
    _MATRIX @ _MATRIX


def recorder_threads() -> list[threading.Thread]:
    """The threads of every recorder of this process."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("rlprobe")]


def thread_seconds(threads: list[threading.Thread]) -> float:
    """CPU seconds of living threads so far."""
    clocks = [time.pthread_getcpuclockid(thread.ident) for thread in threads if thread.ident is not None]
    return sum(map(time.clock_gettime, clocks))


def timed(
    calls: int, prepare: Callable[[int], object], call: Callable[[int, object], None], pause: float
) -> tuple[list[float], float]:
    """Seconds of each call, and CPU seconds of all of them on this thread."""
    out, spent = [], 0.0
    for index in range(calls):
        given = prepare(index)
        before, began = time.thread_time(), time.perf_counter()
        call(index, given)
        out.append(time.perf_counter() - began)
        spent += time.thread_time() - before
        ends = began + pause
        while time.perf_counter() < ends:
            busy_numpy()
    return out, spent


def case(
    name: str,
    calls: int,
    prepare: Callable[[int], object],
    log: Callable[[Recorder], Callable[[int, object], None]],
    pause: float,
    **options: object,
) -> dict[str, object]:
    """One case."""
    directory = Path(tempfile.mkdtemp(prefix="rlprobe-speed-"))
    recorder = Recorder(directory / "run", **options)  # type: ignore[arg-type]  # options of the table below
    time.sleep(1.0)  # the one-off capture of the environment is not the loop's cost
    threads = recorder_threads()
    before = thread_seconds(threads)
    times, spent = timed(calls, prepare, log(recorder), pause)
    spent += thread_seconds(threads) - before
    closing, closing_cpu = time.perf_counter(), time.process_time()
    recorder.close()
    closed, closed_cpu = time.perf_counter() - closing, time.process_time() - closing_cpu
    spent += closed_cpu
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    shutil.rmtree(directory)
    times.sort()
    return {
        "case": name, "calls": calls, "median_us": round(1e6 * statistics.median(times), 2),
        "p99_us": round(1e6 * times[int(0.99 * calls)], 2), "cpu_us": round(1e6 * spent / calls, 1),
        "close_s": round(closed, 3), "close_cpu_s": round(closed_cpu, 3),
        "dropped": recorder.dropped, "bytes_a_call": size // calls,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }  # fmt: skip


def scalars(index: int) -> dict[str, float]:
    """The metrics of one step."""
    return {f"metric_{number}": index * 0.001 + number for number in range(METRICS)}


def doubles(draw: str) -> Callable[[int], dict[str, float]]:
    """Makes the metrics of one step from 42 draws, which repeat nothing: on disk they take what they hold."""
    generator = np.random.default_rng(0)
    names = [f"metric_{number}" for number in range(42)]
    return lambda index: dict(zip(names, getattr(generator, draw)(size=len(names)).tolist(), strict=True))


def samples(arrays: int) -> Callable[[int], object]:
    """Makes the samples of one step, with so many token arrays each."""
    generator = np.random.default_rng(0)
    words = [f"word{number}" for number in range(3000)]

    def make(index: int) -> object:
        text = " ".join(generator.choice(words, TEXT_BYTES // 8).tolist())[:TEXT_BYTES]
        return [
            {
                "prompt": f"prompt {index * 8 + number // 8}", "completion": f"{number} {text}",
                "reward": float(number % 5), "rewards": {"right": float(number % 2), "format": 1.0},
                "advantage": number % 5 - 2.0, "completion_tokens": TOKENS, "truncated": False, "stop_reason": "eos",
                **{name: generator.standard_normal(TOKENS, dtype=np.float32) for name in _ARRAYS[:arrays]},
            }
            for number in range(SAMPLES)
        ]  # fmt: skip

    return make


def made_before(prepare: Callable[[int], object], count: int = 8) -> Callable[[int], object]:
    """The same few, made before the loop: nothing but the calls is between the calls, as in the tight loop of steps."""
    made = [prepare(index) for index in range(count)]
    return lambda index: made[index % count]


_ARRAYS = ("token_logprobs", "token_old_logprobs", "token_reference_logprobs", "token_kl", "token_entropy")


def cases(rows: int) -> list[tuple[object, ...]]:
    """(name, calls, prepare, log, seconds between calls, options) of every case."""
    few = max(100, rows // 200)
    return [
        ("log_step, tight loop", rows, scalars, lambda rec: rec.log_step, 0.0, {}),
        ("log_step, every 10 ms", min(rows, 1500), scalars, lambda rec: rec.log_step, 0.01, {}),
        ("log_step, 42 doubles of [0, 1)", min(rows, 20_000), doubles("random"), lambda rec: rec.log_step, 0.0, {}),
        ("log_step, 42 normal doubles", min(rows, 20_000), doubles("normal"), lambda rec: rec.log_step, 0.0, {}),
        ("log_samples owned, one array, tight loop", few, made_before(samples(1)), _owned, 0.0, {}),
        (
            "log_samples copied, one array, tight loop",
            few,
            made_before(samples(1)),
            lambda rec: rec.log_samples,
            0.0,
            {},
        ),
        ("log_samples owned, one array, default", few, samples(1), _owned, 0.02, {}),
        ("log_samples copied, one array, default", few, samples(1), lambda rec: rec.log_samples, 0.02, {}),
        ("log_samples owned, one array, all", few, samples(1), _owned, 0.02, {"capture": "all"}),
        ("log_samples owned, five arrays, default", few, samples(5), _owned, 0.02, {}),
        ("log_samples owned, five arrays, all", few, samples(5), _owned, 0.02, {"capture": "all"}),
        ("log_samples owned, one array, scalars", few, samples(1), _owned, 0.02, {"capture": "scalars"}),
    ]


def _owned(recorder: Recorder) -> Callable[[int, object], None]:
    return lambda step, rows: recorder.log_samples(step, rows, owned=True)  # type: ignore[arg-type]  # rows from samples()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="calls of the tight loop")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    context = multiprocessing.get_context("fork")
    for entry in cases(arguments.rows):
        if arguments.only not in str(entry[0]):
            continue
        queue = context.SimpleQueue()
        process = context.Process(target=lambda entry=entry, queue=queue: queue.put(case(*entry[:5], **entry[5])))  # type: ignore[misc,arg-type]  # a row of the table
        process.start()
        found = queue.get()
        process.join()
        if arguments.json:
            print(json.dumps(found))
        else:
            print("  ".join(f"{name}={value}" for name, value in found.items()))


if __name__ == "__main__":
    main()

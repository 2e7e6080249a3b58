"""Makes the binary samples of `samples/` with the real writers.

Run it in an environment of its own, from the project's root:
    pip install wandb==0.31.0 tensorboardX==2.6.5 trackio==0.43.0 mlflow-skinny==3.17.2 sqlalchemy alembic
    python tests/importers/make_samples.py
Every sample tells the same twelve steps (`value`). Names of users, hosts and folders are neutral: they are set before a
writer starts, or taken out of the database afterwards.
"""

import gzip
import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
STEPS = 12
KILLED_STEPS = 80  # more than the 32 KiB that wandb holds back: the file ends inside a record
PAUSE = 3.0  # seconds in which wandb's own process writes what it was handed, before both are killed
CONFIGURATION = {"beta": 0.04, "num_generations": 8, "learning_rate": 1e-6}
_NEUTRAL = {"LOGNAME": "user", "USER": "user", "HOME": "/tmp", "HF_HUB_OFFLINE": "1", "MLFLOW_ALLOW_FILE_STORE": "true"}


def row(step: int) -> dict[str, float]:
    """The metrics of one step, under TRL's keys: a NaN at step 7, an infinity at step 9."""
    return {
        "reward": step / 16,
        "reward_std": 0.25,
        "kl": math.nan if step == 7 else step / 64,
        "loss": math.inf if step == 9 else 0.5,
    }


def wandb(folder: str, *, killed: bool) -> None:
    """A run of wandb, which ends by itself or is killed; `folder` is where wandb writes."""
    import wandb as library

    settings = library.Settings(
        mode="offline", root_dir=folder, run_id="killed00" if killed else "finished", host="host", silent=True,
        console="off", x_disable_stats=True, x_disable_meta=True, x_disable_machine_info=True,
        x_save_requirements=False,
    )  # fmt: skip
    run = library.init(project="project", name="name", config=CONFIGURATION, settings=settings)
    for step in range(KILLED_STEPS if killed else STEPS):
        run.log({"train/global_step": step, **{f"train/{key}": value for key, value in row(step % STEPS).items()}})
        if step % 4 == 0:
            run.log({"system": 1})  # a row without the trainer's step
    if killed:
        time.sleep(PAUSE)
        sys.stdout.write("logged\n")
        sys.stdout.flush()
        signal.pause()
    run.finish()


def tensorboard(folder: Path) -> None:
    """Two event files: the first process reached step 7, the second resumed from step 6."""
    from tensorboardX import SummaryWriter

    for number, steps in enumerate((range(8), range(6, STEPS))):
        writer = SummaryWriter(logdir=str(folder), filename_suffix=f".{number}")
        writer.add_text("args", json.dumps(CONFIGURATION))
        for step in steps:
            for key, value in row(step).items():
                writer.add_scalar(f"train/{key}", value, step)
        writer.close()
    for number, path in enumerate(sorted(folder.iterdir())):
        path.rename(folder / f"events.out.tfevents.{1700000000 + number}.host.{number}")


def trackio(folder: Path) -> None:
    """One project with two runs."""
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio as library

    for name in ("first", "second"):
        library.init(project="project", name=name, config=CONFIGURATION, embed=False, auto_log_gpu=False)
        for step in range(STEPS):
            library.log({key: value + (name == "first") for key, value in row(step).items()}, step=step)
        library.finish()
    for path in folder.iterdir():
        if path.suffix == ".db":
            shrink(path, ("metrics", "configs"))
        else:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def mlflow(store: str) -> None:
    """One experiment with two runs."""
    import mlflow as library

    library.set_tracking_uri(store)
    library.set_experiment("experiment")
    for name in ("first", "second"):
        with library.start_run(run_name=name):
            library.log_params(CONFIGURATION)
            for step in range(STEPS):
                library.log_metrics({key: value + (name == "first") for key, value in row(step).items()}, step=step)


def shrink(path: Path, tables: tuple[str, ...]) -> None:
    """Leave these tables of a database, as small as they can be."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA journal_mode = DELETE")
        kinds = connection.execute("SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        for kind, name in kinds:
            if kind == "index" or (kind == "table" and name not in tables and not name.startswith("sqlite_")):
                connection.execute(f'DROP {kind} IF EXISTS "{name}"')
        if "runs" in tables:
            connection.execute("UPDATE runs SET artifact_uri = '', user_id = 'user', source_name = ''")
        connection.commit()
        connection.execute("PRAGMA page_size = 1024")
        connection.execute("VACUUM")


def make() -> None:
    """All samples, in place of those that are there."""
    for name in ("wandb", "tensorboard", "trackio", "mlflow"):
        shutil.rmtree(SAMPLES / name, ignore_errors=True)
        (SAMPLES / name).mkdir(parents=True)
    _wandb_runs()
    tensorboard(SAMPLES / "tensorboard")
    trackio(SAMPLES / "trackio")
    with tempfile.TemporaryDirectory() as folder:
        mlflow(f"sqlite:///{folder}/mlflow.db")
        shrink(Path(folder, "mlflow.db"), ("metrics", "params", "runs"))
        shutil.move(f"{folder}/mlflow.db", SAMPLES / "mlflow")
        os.chdir(folder)
        mlflow(f"file://{folder}/mlruns")
        _file_store(Path(folder, "mlruns"), SAMPLES / "mlflow" / "mlruns")


def _wandb_runs() -> None:
    for name in ("finished", "killed"):
        with tempfile.TemporaryDirectory() as folder:
            started = subprocess.Popen(
                [sys.executable, __file__, name, folder],
                stdout=subprocess.PIPE, start_new_session=True, env={**os.environ, **_NEUTRAL},
            )  # fmt: skip
            if name == "killed":
                assert started.stdout is not None
                started.stdout.readline()
                os.killpg(started.pid, signal.SIGKILL)  # the script and wandb's own process
            started.wait()
            log = next(Path(folder).rglob("*.wandb"))
            target = SAMPLES / "wandb" / f"offline-run-20260101_00000{int(name == 'killed')}-{log.stem[4:]}"
            target.mkdir(parents=True)
            if name == "killed":
                (target / f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes(), mtime=0))
            else:
                shutil.copy(log, target / log.name)


def _file_store(store: Path, target: Path) -> None:
    experiment = next(each for each in store.iterdir() if each.name.isdigit() and each.name != "0")
    for number, run in enumerate(sorted(each for each in experiment.iterdir() if each.is_dir())):
        name = f"{number:032x}"
        for part in ("metrics", "params"):
            shutil.copytree(run / part, target / "1" / name / part)
        lines = (run / "meta.yaml").read_text().replace(run.name, name).splitlines()
        kept = [line for line in lines if not line.startswith(("artifact_uri", "user_id", "experiment_id"))]
        (target / "1" / name / "meta.yaml").write_text("\n".join(kept) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        wandb(sys.argv[2], killed=sys.argv[1] == "killed")
    else:
        os.environ.update(_NEUTRAL)
        make()

"""The frameworks under test: what is installed of each, into a folder of its own under the environment."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HOME = Path(sys.prefix) / "frameworks"
_RAY = ("ray", "msgpack", "jsonschema", "aiosignal", "frozenlist", "click", "attrs", "referencing", "rpds-py")
_RAY += ("jsonschema-specifications", "protobuf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One framework.

    Attributes:
        name: as users call it.
        packages: what pip installs, without dependencies: those that its logging needs are named.
        program: the function of `programs` that drives it; "" where there is nothing to run.
        held_to: what its integration was held to, where the program runs.
        otherwise: the same where it does not run, or there is none.
    """

    name: str
    packages: tuple[str, ...] = ()
    program: str = ""
    held_to: str = "real logger code"
    otherwise: str = "documentation only"


_VERL = (
    "verl==0.9.0",
    "TransferQueue==0.1.11",
    "omegaconf",
    "antlr4-python3-runtime==4.9.3",
    "hydra-core",
    "tensordict",
)
_VERL += (
    "codetiming",
    "torchdata",
    "cloudpickle",
    "pyvers",
    "dill",
    "orjson",
    "numexpr",
    "pyzmq",
    "aiohttp",
    "fastapi",
)
_VERL += ("aiohappyeyeballs", "multidict", "yarl", "propcache", "cachetools", "starlette", "pydantic", "pydantic-core")
_VERL += ("annotated-types", "typing-inspection", "uvicorn", "h11", "httpx", "anyio", "sniffio", *_RAY)
_SKYRL = ("skyrl==0.3.0", "loguru", "omegaconf", "antlr4-python3-runtime==4.9.3")
_SWANLAB = ("swanlab==0.10.3", "nvidia-ml-py", "orjson", "protobuf<7", "pwinput", "pydantic-settings", "pyecharts")
_SWANLAB += ("prettytable", "simplejson", "wcwidth", "pyroaring", "wrapt", "python-dotenv", "watchdog")
_NOT_THERE = "documentation only: not on the package index"

TARGETS = (
    Target(
        name="verl",
        packages=_VERL,
        program="verl",
        held_to="real trainer (v1 loop, TransferQueue, Ray; policy and sampler replaced)",
    ),
    Target(name="Ray", packages=_RAY, program="ray", held_to="real cluster of one node, tap() in the driver alone"),
    Target(name="OpenRLHF", packages=("openrlhf==0.11.2",), program="openrlhf"),
    Target(name="SkyRL", packages=_SKYRL, program="skyrl"),
    Target(name="AReaL", packages=("areal==1.0.4",), program="areal"),
    Target(name="tinker-cookbook", packages=("tinker-cookbook==0.6.1", "chz", "fsspec"), program="tinker"),
    Target(name="ms-swift", packages=("ms-swift==4.6.0",), program="swift"),
    Target(name="SwanLab", packages=_SWANLAB, program="swanlab", held_to="the logger itself, offline"),
    Target(name="unsloth", otherwise="documentation only: importing it asks for a GPU"),
    Target(name="NeMo-RL", program="nemo_rl", otherwise=_NOT_THERE),
    Target(name="slime", program="slime", otherwise=_NOT_THERE),
    Target(name="prime-rl", program="prime_rl", otherwise=_NOT_THERE),
)


def installed(target: Target) -> tuple[Path, str]:
    """The folder of a target, installed now if it is not there; and why it could not be, "" where it could."""
    folder = HOME / target.name
    if folder.is_dir() or not target.packages:
        return folder, ""
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *target.packages]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return folder, "" if done.returncode == 0 else (lines or ["pip failed"])[0][:120]

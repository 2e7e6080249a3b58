"""What a run ran on, and the redaction of secrets in it and in the trainer's configuration.

Runs on the keeper thread: a question to git must not make training wait.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import metadata
from itertools import pairwise

from rlprobe.recording.manifest import plain

REDACTED = "[redacted]"
_PACKAGES = (
    "torch", "transformers", "trl", "accelerate", "datasets", "peft", "deepspeed", "vllm", "sglang", "verl", "openrlhf",
    "flash-attn", "liger-kernel", "bitsandbytes", "unsloth", "numpy", "pyarrow", "rlprobe",
)  # fmt: skip
_PREFIXES = (
    "ACCELERATE_", "CUBLAS_", "CUDA_", "FSDP_", "NCCL_", "OMP_", "PYTORCH_", "ROCR_", "SLURM_JOB", "SLURM_N",
    "TOKENIZERS_", "TORCH_", "TRL_", "VLLM_", "WORLD_SIZE", "XLA_",
)  # fmt: skip
_SECRET_WORDS = frozenset(
    ("token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "credential", "credentials", "auth",
     "authorization", "bearer", "cookie", "apikey", "privatekey", "accesskey", "pwd")
)  # fmt: skip
_SECRET_PAIRS = frozenset((("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key"), ("ssh", "key"),
                           ("signing", "key"), ("encryption", "key"), ("connection", "string")))  # fmt: skip
_SECRET_VALUES = re.compile(
    r"hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"
    r"|(?i:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END|$)"
)
_HEX_KEY = re.compile(r"(?<![0-9a-fA-F])[0-9a-f]{40}(?![0-9a-fA-F])")  # a wandb key; also the shape of a commit
_HASH_NAMES = frozenset(("commit", "sha", "revision", "hash", "digest", "checksum"))
_URL_CREDENTIALS = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*://)[^\s/@]+@")
_URL_PARAMETER = re.compile(r"(?i)(?P<name>[?&;][\w.-]*(?:token|secret|key|password|signature|sig)[\w.-]*=)[^\s&#;]+")
_MARKS = frozenset(("eos", "bos", "pad", "unk", "sep", "cls", "mask", "image", "special"))  # eos_token is no secret
_ENDINGS = ("token", "secret", "password", "passwd", "apikey", "credential", "credentials")
_EVEN_NUMBERS = frozenset(("password", "passwd", "passphrase", "pwd", "secret"))  # max_tokens is a number and no secret
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GIT_SECONDS = 2.0


def redact(value: object, key: str = "") -> object:
    """The value as JSON holds it, with every secret replaced; `key` is the name under which it was found."""
    if isinstance(value, Mapping):
        return {str(name): redact(item, str(name)) for name, item in value.items()}
    if value is None or value == "":
        return value
    if isinstance(value, (int, float)):
        return REDACTED if not _EVEN_NUMBERS.isdisjoint(_words(key)) and not isinstance(value, bool) else plain(value)
    if is_secret_name(key):
        return REDACTED
    if isinstance(value, (list, tuple, set, frozenset)):
        return [redact(item, key) for item in value]
    found = plain(value)
    return redact_text(found, key) if isinstance(found, str) else redact(found, key)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def is_secret_name(name: str) -> bool:
    """Whether a setting or variable of that name holds a secret: one of its words says so."""
    words = _words(name)
    pairs = list(pairwise(words))
    if pairs and pairs[-1][1] == "token" and pairs[-1][0] in _MARKS:
        return False
    told = any(word in _SECRET_WORDS or word.endswith(_ENDINGS) for word in words)
    return told or any(pair in _SECRET_PAIRS for pair in pairs)


def redact_text(text: str, key: str = "") -> str:
    """The text without credentials in URLs and without what has the shape of a known key."""
    text = _URL_CREDENTIALS.sub(rf"\g<scheme>{REDACTED}@", text)
    text = _URL_PARAMETER.sub(rf"\g<name>{REDACTED}", text)
    text = _SECRET_VALUES.sub(REDACTED, text)
    return text if not _HASH_NAMES.isdisjoint(_words(key)) else _HEX_KEY.sub(REDACTED, text)


def learn_environment(learn: Callable[[Mapping[str, object]], None]) -> None:
    """Find the environment out and have it learnt, as a fact of the manifest."""
    learn({"environment": environment()})


def environment() -> dict[str, object]:
    """Versions, devices, host kind, git state and the variables that change how training runs; redacted."""
    variables = {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}
    found: dict[str, object] = {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "host": _host_kind(),
        "packages": _versions(),
        "devices": _devices(),
        "git": _git(),
        "variables": variables,
        "command": [redact_text(word) for word in _without_secret_values(sys.argv)],
    }
    return {name: redact(value) for name, value in found.items() if value not in ({}, [], None)}


def _without_secret_values(words: list[str]) -> list[str]:
    """Command-line words; the value after (or in) a secret option is replaced."""
    out: list[str] = []
    for index, word in enumerate(words):
        name, equals, _ = word.partition("=")
        before = words[index - 1] if index else ""
        if equals and is_secret_name(name) and not name.isspace():
            out.append(f"{name}={REDACTED}")
        elif before.startswith("-") and "=" not in before and is_secret_name(before) and not word.isdigit():
            out.append(REDACTED)
        else:
            out.append(word)
    return out


def _host_kind() -> str:
    if os.environ.get("SLURM_JOB_ID"):
        return "slurm"
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    return "container" if os.path.exists("/.dockerenv") else "host"


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _devices() -> list[str]:
    """Names of the accelerators, where torch has already woken them up; nothing is initialised here."""
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            return [str(torch.cuda.get_device_name(index)) for index in range(torch.cuda.device_count())]
    except Exception:  # a driver without devices, a half-imported torch
        return []
    return []


def _git() -> dict[str, object]:
    """Commit and whether files differ from it, of the working directory."""
    commit = _ask_git("rev-parse", "HEAD")
    if not commit:
        return {}
    return {"commit": commit, "dirty": bool(_ask_git("status", "--porcelain", "--untracked-files=no"))}


def _ask_git(*question: str) -> str:
    """Git's answer, "" for none. Without pipes: a process forked meanwhile would hold their ends while it lives."""
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        with tempfile.TemporaryFile() as answer:
            done = subprocess.run(
                [git, *question],
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.DEVNULL,
                check=False,
                close_fds=False,  # lets the interpreter spawn instead of fork, which needs no pipe either
                timeout=_GIT_SECONDS,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            )
            answer.seek(0)
            return answer.read().decode("utf-8", "replace").strip() if done.returncode == 0 else ""
    except (OSError, subprocess.SubprocessError):
        return ""

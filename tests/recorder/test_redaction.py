import json

import pytest

from rlprobe import Recorder
from rlprobe.recorder.environment import REDACTED, redact, redact_text
from rlprobe.recording.reader import RecordingFeed
from rlprobe.recording.run import Run

SECRETS = {
    "hub_token": "qq7",
    "HF_TOKEN": "qq7",
    "wandb_api_key": "qq7",
    "OPENAI_API_KEY": "qq7",
    "apiKey": "qq7",
    "password": 1234,
    "db_passwd": "qq7",
    "client_secret": ["qq7", "qq8"],
    "aws_secret_access_key": "qq7",
    "Authorization": "Bearer abcdefghijklmnop",
    "private_key": "qq7",
}
HARMLESS = {
    "learning_rate": 1e-6,
    "max_tokens": 512,
    "num_tokens": 3,
    "tokenizer": "qwen",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "prompt_key": "prompt",
    "sort_key": "length",
    "author": "someone",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "dataset": "https://example.org/data?split=train",
    "beta": None,
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_value_under_a_secret_name_is_redacted(name):
    found = json.dumps(redact({"outer": {name: SECRETS[name]}}))

    assert REDACTED in found
    assert str(SECRETS[name]) not in found


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_looks_like_a_secret_stays(name):
    assert redact({name: HARMLESS[name]}) == {name: HARMLESS[name]}


# put together here, so that nobody's scanner takes this file for a leak
SHAPES = [
    "hf_" + "aB3" * 10, "sk-" + "proj-" + "x9" * 12, "ghp_" + "a1" * 15, "AKIA" + "ABCD" * 4, "AIza" + "x" * 35,
    "0123456789abcdef" * 2 + "01234567", "ey" + "J" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0" + ".c2lnbmF0dXJl",
]  # fmt: skip


@pytest.mark.parametrize("secret", SHAPES)
def test_a_value_in_the_shape_of_a_known_key_is_redacted_wherever_it_stands(secret):
    found = redact({"note": f"run with {secret} please", "list": [secret], "deep": {"a": [{"b": secret}]}})

    assert secret not in json.dumps(found)
    assert "please" in str(found)


def test_credentials_in_a_url_are_redacted_and_the_rest_of_it_stays():
    text = redact_text("postgres://user:pa55@host:5432/db and https://h/x?a=1&token=abc&b=2")

    assert text == f"postgres://{REDACTED}@host:5432/db and https://h/x?a=1&token={REDACTED}&b=2"


@pytest.mark.slow
def test_no_secret_of_configuration_environment_or_command_line_reaches_the_disk(tmp_path, monkeypatch):
    secret = "correct-horse-battery"
    monkeypatch.setenv("VLLM_API_KEY", secret)
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setattr("sys.argv", ["train.py", "--hub-token", secret, f"--api_key={secret}", "--steps", "5"])
    with Recorder(tmp_path / "run", config={"hub_token": secret, "lr": 1.0}) as recorder:
        recorder.describe(config={"reward": {"password": secret, "url": f"https://u:{secret}@h/"}})
        recorder.log_step(0, a=1.0)
    run = Run(RecordingFeed(tmp_path / "run"))

    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path
    assert run.manifest.environment["variables"]["NCCL_DEBUG"] == "INFO"
    assert run.manifest.environment["command"][-2:] == ["--steps", "5"]
    assert run.manifest.configuration["lr"] == 1.0

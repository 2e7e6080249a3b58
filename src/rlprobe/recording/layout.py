"""Every name of the recording format: files, columns, frame kinds, event kinds. docs/recording-format.md is its prose.

This module imports nothing but the standard library and opens no file.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FORMAT = "rlprobe.recording"
MAJOR, MINOR = 1, 0  # a reader refuses a newer major version and keeps what a newer minor version added

MANIFEST = "manifest.json"
STEPS = "steps.parquet"
SAMPLES = "samples"
EVENTS = "events.jsonl"
JOURNAL = "journal"
CONTROL = "control.json"
STOP = "stop.json"  # rank 0 of a run of several processes: the step after which all of them stop
LOCK = "lock"  # held with flock(2) by the writing process for as long as it may write
TEMPORARY = ".tmp"  # suffix of a file that is not yet whole; readers ignore it

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
COVERS = b"rlprobe.covers"  # parquet key: "SEGMENT:SEQUENCE", the last frame whose content the file holds
CHECK = b"rlprobe.check"  # parquet key: CRC-32 of the footer, eight hex digits, which count as zeros themselves
FRAME_HEADER = 8  # bytes: u32 payload length, u32 crc32 of the payload, both little-endian
MAX_FRAME = 1 << 28  # bytes; a longer length is damage

LOGGED, DERIVED, SAMPLE_ROWS = "step", "derived", "samples"  # frame kinds
BLOCK = "steps"  # frame kind: several logged steps of the same metrics, numbered one after the other
MOST_OF_A_BLOCK = 1024  # steps of a block; more is damage
FLOAT16, INT32 = 1, 2  # msgpack extension codes: little-endian array of that type

STEP, SEGMENT, SEQUENCE = "step", "segment", "sequence"
RESERVED = frozenset((STEP, SEGMENT, SEQUENCE))  # a metric of that name is stored under RESERVED_PREFIX + name
RESERVED_PREFIX = "logged/"

_JOURNAL_NAME = re.compile(r"(steps|samples)-(\d{1,9})-(\d{1,18})\.mpk")
_PART_NAME = re.compile(r"part-(\d{6,9})\.parquet")
_RANK_NAME = re.compile(r"rank-(\d{3,6})")


def journal_name(stream: str, segment: int, first: int) -> str:
    """Name of a journal file: stream ("steps" or "samples"), segment, and the sequence number of its first frame."""
    return f"{stream}-{segment:04d}-{first:012d}.mpk"


def parse_journal(name: str) -> tuple[str, int, int] | None:
    """(stream, segment, first sequence number) of a journal file's name; None for any other name."""
    found = _JOURNAL_NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2]), int(found[3]))


def part_name(number: int) -> str:
    """Name of a parquet part of the samples."""
    return f"part-{number:06d}.parquet"


def parse_part(name: str) -> int | None:
    """The number of a part's name; None for any other name."""
    found = _PART_NAME.fullmatch(name)
    return None if found is None else int(found[1])


def rank_directory(root: Path, rank: int) -> Path:
    """Where a rank records: the run itself for rank 0, a folder of its own otherwise."""
    return root if rank == 0 else root / f"rank-{rank:03d}"


def parse_rank(name: str) -> int | None:
    """The rank of a folder's name, 1 or more; None for any other name, also for one that spells a rank differently."""
    found = _RANK_NAME.fullmatch(name)
    rank = 0 if found is None else int(found[1])
    return rank if rank and rank_directory(Path(), rank).name == name else None


@dataclass(frozen=True, slots=True)
class EventKind:
    """One kind of event: its fields in words, and what it says."""

    name: str
    fields: str
    meaning: str


EVENT_KINDS: tuple[EventKind, ...] = (
    EventKind("train_begin", "", "Training starts; the settings are in the manifest."),
    EventKind("train_end", "reason", "Training ends in order."),
    EventKind("checkpoint", "path", "Weights were saved."),
    EventKind("evaluation", "name -> score", "A held-out evaluation; its numbers are fields of their own."),
    EventKind("non_finite", "metric, value", "The first NaN or infinity of a metric in this segment."),
    EventKind("bad_value", "metric, value, reason", "A value that is no number; told once a metric and segment."),
    EventKind("crash", "error, traceback, thread", "An exception that nobody caught."),
    EventKind("signal", "signal", "The process received a signal that ends it."),
    EventKind("resume", "from_step", "A new segment continues the run."),
    EventKind("halt", "those of control.json", "Training is asked to stop."),
    EventKind("dropped", "rows, bytes, reason", "Rows that were not recorded since the last event of this kind."),
    EventKind("alert", "finding, url", "A message was sent."),
    EventKind("closed", "", "The segment was closed in order."),
    EventKind("bad_hook", "hook, error, message, traceback", "A hook of an integration failed; told once."),
    EventKind("group_parts", "groups, size, here, n, mean, squares, low, high", "Groups that lie on several ranks."),
    EventKind("custom", "any", "Anything else; unknown kinds are kept."),
)


@dataclass(frozen=True, slots=True)
class SampleColumn:
    """One column of the sample rows: name (a family when it ends in "/"), parquet type, meaning."""

    name: str
    type: str
    meaning: str


_C = SampleColumn
SAMPLE_COLUMNS: tuple[SampleColumn, ...] = (
    _C("step", "int64", "Trainer step."),
    _C("segment", "int32", "Segment that recorded the row."),
    _C("sequence", "int64", "Sequence number of the frame that brought the row."),
    _C("sample", "int64", "Index of the sample in the step."),
    _C("rank", "int64", "Rank that recorded the row; told by readers, in no file."),
    _C("split", "string", "train (also where it is absent), or evaluation: counted in no statistic of the step."),
    _C("generation", "string", "Id of the rollout that made it."),
    _C("group", "string", "Id of the group that shares a baseline."),
    _C("group_size", "int64", "Samples of the whole group on all ranks, where a rank may hold a part of it."),
    _C("prompt_id", "string", "Hash of the prompt and its images: the first 16 hex digits of a SHA-256."),
    _C("prompt", "string", 'Prompt as text; the hash with capture_text="hash".'),
    _C("completion", "string", 'Completion as text; the hash with capture_text="hash".'),
    _C("prompt_messages", "string", "Prompt of a chat as JSON messages."),
    _C("completion_messages", "string", "Completion of a chat as JSON messages."),
    _C("reward", "double", "Total reward."),
    _C("reward/", "double", "Reward of one reward function."),
    _C("reward_text/", "string", "Text that one reward function received, where it differs from the completion."),
    _C("true_reward", "double", "The score that the optimised reward stands for."),
    _C("right", "bool", "Whether the answer was judged right."),
    _C("advantage", "double", "Advantage as used by the loss."),
    _C("prompt_tokens", "int64", "Tokens of the prompt."),
    _C("completion_tokens", "int64", "Generated tokens."),
    _C("stop_reason", "string", "eos, length, tool, abort or what the sampler calls it."),
    _C("truncated", "bool", "Whether the completion was cut at the length cap."),
    _C("repetition", "double", "Fraction of 4-grams that occurred before in the completion."),
    _C("logprob", "double", "Mean token log-prob under the policy, nats."),
    _C("old_logprob", "double", "Mean token log-prob under the old policy, nats."),
    _C("reference_logprob", "double", "Mean token log-prob under the reference, nats."),
    _C("sampler_logprob", "double", "Mean token log-prob as the sampler reported it, nats."),
    _C("kl", "double", "Mean KL contribution a token, policy against reference, nats."),
    _C("kl_estimator", "string", "k1, k2 or k3."),
    _C("entropy", "double", "Mean token entropy, nats."),
    _C("ratio_mean", "double", "Mean importance ratio of policy and old policy."),
    _C("ratio_max", "double", "Largest importance ratio of policy and old policy."),
    _C("clip_fraction", "double", "Fraction of tokens whose gradient the clip removes."),
    _C("staleness", "double", "Updates between generation and use."),
    _C("capture_reason", "string", "Why the row was kept: top, bottom, random, outlier, all."),
    _C("token_ids", "binary int32", "Token ids of the completion."),
    _C("token_logprobs", "binary float16", "Log-prob of each token under the policy."),
    _C("token_old_logprobs", "binary float16", "Log-prob of each token under the old policy."),
    _C("token_reference_logprobs", "binary float16", "Log-prob of each token under the reference."),
    _C("token_sampler_logprobs", "binary float16", "Log-prob of each token as the sampler reported it."),
    _C("token_kl", "binary float16", "KL contribution of each token."),
    _C("token_entropy", "binary float16", "Entropy at each token."),
    _C("token_ratios", "binary float16", "Importance ratio of each token."),
)
TEXT_COLUMNS = frozenset(("prompt", "completion", "prompt_messages", "completion_messages"))
TEXT_FAMILY = "reward_text/"


def is_text(name: str) -> bool:
    """Whether a sample column holds text that `export --no-text` leaves out."""
    return name in TEXT_COLUMNS or name.startswith(TEXT_FAMILY)

"""Arguments of `rlprobe verify`: the functions that it runs, and what they are meant to do."""

import argparse


class _Slot(argparse.Action):
    """Collects `--loss MODULE:FUNCTION` and its like in one mapping."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: object = None,
    ) -> None:
        namespace.functions = {**namespace.functions, self.dest.removeprefix("slot_"): values}


def add_verified_functions(parser: argparse.ArgumentParser) -> None:
    """One option a function of the pipeline."""
    from rlprobe.verifier.pipeline import FUNCTIONS

    parser.set_defaults(functions={})
    for slot in FUNCTIONS:
        option, where = f"--{slot.replace('_', '-')}", "MODULE:FUNCTION"
        told = f"the function in the place of `{slot}`"
        parser.add_argument(
            option, dest=f"slot_{slot}", action=_Slot, default=argparse.SUPPRESS, metavar=where, help=told
        )


def add_declarations(parser: argparse.ArgumentParser) -> None:
    """--declare, for what the user's code is meant to do."""
    parser.add_argument(
        "--declare",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="what the code is meant to do: algorithm=grpo, clip_high=0.28 ... (repeatable)",
    )


def _setting(text: str) -> tuple[str, object]:
    """NAME=VALUE with the value as a number, true or false where it is one."""
    name, separator, value = text.partition("=")
    if not (name and separator):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text[:80]!r}")
    words: dict[str, object] = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value

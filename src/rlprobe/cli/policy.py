"""A doctor.toml that a watch beside training will be given, refused before training begins."""

from rlprobe.cli.failure import Failure


def check(command: str, path: str) -> None:
    """Read it as the watch does.

    Args:
        command: the command that was given it, and its option, as the complaint names them.
        path: the file.

    Raises:
        Failure: the watch would refuse it.
    """
    from rlprobe.doctor import configuration
    from rlprobe.guardian import settings

    try:
        configuration.load(path)
        settings.load(path)
    except configuration.ConfigurationError as error:
        raise Failure(f"{command} {error}") from error

"""The one exception by which a command says that its input is no good."""


class Failure(Exception):
    """One line for a person: what is wrong, where, and what to do. The command line prints it and exits with 2."""

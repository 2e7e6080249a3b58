"""Verifier and doctor know each other by id."""

import pytest

from rlprobe.cli import main
from rlprobe.doctor import catalog as signatures
from rlprobe.reports.phrases import WITHOUT_CHECKS
from rlprobe.verifier import catalog
from tests.support.spread import spread

KNOWN = {entry.signature.id for entry in signatures.entries()}
CAUSED = {cause for entry in catalog.entries() for cause in entry.check.causes}


def test_a_check_names_signatures_that_there_are():
    assert CAUSED <= KNOWN


def test_every_signature_has_checks_that_confirm_it_or_is_listed_as_having_none():
    assert KNOWN - CAUSED == WITHOUT_CHECKS


def test_the_checks_of_a_signature_are_run_by_its_name():
    chosen = catalog.chosen("kl_blowup")

    assert chosen
    assert all("KL_BLOWUP" in entry.check.causes for entry in chosen)


@pytest.mark.parametrize("entry", spread(catalog.entries(), few=30), ids=lambda entry: entry.check.id)
def test_the_page_of_every_check_can_be_read(entry, capsys):
    assert main(["explain", entry.check.id.lower()]) == 0

    assert entry.check.id in capsys.readouterr().out


@pytest.mark.parametrize("entry", catalog.entries(), ids=lambda entry: entry.check.id)
def test_every_check_says_what_it_is(entry):
    assert 0 < len(entry.check.title) <= 70
    assert entry.check.fix.endswith(".")
    assert entry.invariant.endswith(".")
    assert entry.check.id[1] == str(1 + list(STAGES).index(entry.check.stage))


STAGES = ("reward", "advantages", "logprobs", "loss", "decode", "reference", "configuration", "source")


def test_a_signature_s_page_ends_with_its_checks(capsys):
    assert main(["explain", "KL_BLOWUP"]) == 0

    assert "Checks of your code" in capsys.readouterr().out


def test_an_unknown_check_is_one_line(capsys):
    assert main(["explain", "V999"]) == 2

    assert capsys.readouterr().err.count("\n") == 1

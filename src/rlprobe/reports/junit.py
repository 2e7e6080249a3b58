"""A verification as JUnit XML, one test case a check, for CI systems that show tests."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rlprobe.reports.format import plain
from rlprobe.verifier.report import Report


def render(report: Report) -> str:
    """The document: failures for violated invariants, skips for what could not be checked."""
    suite = Element(
        "testsuite",
        name="rlprobe verify",
        tests=str(len(report.results)),
        failures=str(len(report.failures)),
        skipped=str(report.count("not_checkable") + report.count("not_applicable")),
    )
    for result in report.results:
        case = SubElement(
            suite, "testcase", classname=f"rlprobe.{result.stage}", name=f"{result.id} {result.check.title}"
        )
        statement = plain(result.outcome.statement)
        if result.status == "fail":
            failure = SubElement(case, "failure", message=statement)
            failure.text = plain(f"{result.where} {result.fix} More: rlprobe explain {result.id}".strip())
        elif result.status in ("not_checkable", "not_applicable"):
            SubElement(case, "skipped", message=statement)
        elif result.status == "warn":
            SubElement(case, "system-out").text = statement
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'

#!/usr/bin/env python3
"""Counts the tests of a ctest run by label, tells why tests were skipped, one line a reason; fails if tests were
skipped that had all they need.

  test_report.py RESULTS.xml... LIST.json [--required LABEL]... [--slowest N]

RESULTS are ctest's --output-junit of one or more runs, LIST its --show-only=json-v1 (the labels); --required names a
label whose tests may not be skipped here; --slowest names the N tests that took longest.
"""

import argparse
import json
import re
import sys
import xml.etree.ElementTree as xml

OUTCOMES = ("passed", "failed", "skipped")
OUTCOME_OF_STATUS = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}


def labels_of_tests(listing):
    """Test name -> its labels."""
    labels = {}
    for test in listing["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        labels[test["name"]] = properties.get("LABELS", ["unit"])
    return labels


def all_cases(files):
    """The test cases of all runs."""
    cases = xml.Element("testsuite")
    for file in files:
        cases.extend(xml.parse(file).iter("testcase"))
    return cases


def reason(case):
    """What a skipped test printed: GoogleTest writes it on the line after the place, a script behind "skipped:"."""
    found = re.search(r": Skipped\n(.+)|^skipped: (.+)", case.findtext("system-out", ""), re.MULTILINE)
    return (found.group(1) or found.group(2)).strip() if found else "no reason given"


def report(results, listing, required):
    """Prints the table; returns the number of tests that may not be skipped but were."""
    labels = labels_of_tests(listing)
    counts, skipped = {}, []
    for case in results.iter("testcase"):
        # A test that could not even start counts as failed, not as skipped.
        outcome = OUTCOME_OF_STATUS.get(case.get("status"), "failed")
        if case.get("status") == "notrun" and "SKIP" not in xml.tostring(case, "unicode"):
            outcome = "failed"
        for label in labels.get(case.get("name"), ["unit"]):
            counts.setdefault(label, dict.fromkeys(OUTCOMES, 0))[outcome] += 1
            if outcome == "skipped":
                skipped.append((label, case.get("name"), reason(case)))

    print("\nlabel          " + "".join(f"{outcome:>9}" for outcome in OUTCOMES))
    for label in sorted(counts):
        print(f"{label:15}" + "".join(f"{counts[label][outcome]:9}" for outcome in OUTCOMES))
    by_reason = {}
    for label, name, why in skipped:
        if label not in required:
            by_reason.setdefault(why, []).append(name)
    for why, names in sorted(by_reason.items()):
        print(f"skipped: {len(names)} {'test' if len(names) == 1 else 'tests'}: {why}")
    forbidden = [skip for skip in skipped if skip[0] in required]
    for label, name, why in forbidden:
        print(f"FAILED: {name}: skipped ({why}), but what {label} tests need is here")
    return len(forbidden)


def print_slowest(results, labels, count):
    tests = sorted(results.iter("testcase"), key=lambda case: -float(case.get("time", 0)))[:count]
    if tests:
        print("\nslowest")
    for case in tests:
        print(f"{float(case.get('time', 0)):9.1f} s  {case.get('name')} ({', '.join(labels.get(case.get('name'), ['unit']))})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("listing")
    parser.add_argument("--required", action="append", default=[])
    parser.add_argument("--slowest", type=int, default=0)
    arguments = parser.parse_args()
    with open(arguments.listing, encoding="utf-8") as file:
        listing = json.load(file)
    results = all_cases(arguments.results)
    print_slowest(results, labels_of_tests(listing), arguments.slowest)
    return 1 if report(results, listing, arguments.required) else 0


if __name__ == "__main__":
    sys.exit(main())

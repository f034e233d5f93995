# SPDX-License-Identifier: BSD-2-Clause
"""Counts the results in JUnit files as ctest writes them; fails when a test failed or none ran. What the failed ones
said last is shown once more, for in the whole output it is hard to find."""
import os
import sys
import xml.etree.ElementTree as xml

LAST_LINES = 30

passed, failed, skipped = 0, [], []
for name in sys.argv[1:]:
    folder = os.path.basename(name).removesuffix(".xml")
    for case in xml.parse(name).getroot().iter("testcase"):
        status = case.get("status")
        if status == "run":
            passed += 1
        elif status == "disabled":
            skipped.append(f"{case.get('name')}: disabled in the source")
        # A program that is missing is "skipped" for ctest too, but with another message.
        elif status == "notrun" and case.find("skipped").get("message").startswith("SKIP_"):
            lines = (case.findtext("system-out") or "").splitlines()
            reasons = [line.strip() for line in lines if "skip" in line.lower()]
            skipped.append(f"{case.get('name')}: {reasons[0] if reasons else 'no reason given'}")
        else:
            failed.append(f"{case.get('name')} in {folder}" if folder != case.get("name") else folder)
            output = (case.findtext("system-out") or "").splitlines()
            if output:
                print(f"\n--- {failed[-1]}: its last lines", *output[-LAST_LINES:], sep="\n")

print()
for line in skipped:
    print("skipped:", line)
for line in failed:
    print("failed:", line)
print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
sys.exit(1 if failed or passed == 0 else 0)

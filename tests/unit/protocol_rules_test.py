#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# protocol_rules.py finds what it is for: a row whose code nothing shipped leads to, and a knob that only tests turn.
# Takes what protocol_rules.py takes.
import pathlib
import subprocess
import sys
import tempfile
import unittest

import protocol_rules

ARGUMENTS = sys.argv[1:]


class Rows(unittest.TestCase):
    def check(self, before, after):
        """Its status and what it says of docs/protocol.md with one change."""
        text = (pathlib.Path(ARGUMENTS[0]) / "docs" / "protocol.md").read_text()
        self.assertEqual(text.count(before), 1)
        with tempfile.NamedTemporaryFile("w", suffix=".md") as document:
            document.write(text.replace(before, after))
            document.flush()
            ran = subprocess.run(
                [sys.executable, protocol_rules.__file__, "--document", document.name] + ARGUMENTS,
                capture_output=True, text=True, timeout=100)
        return ran.returncode, ran.stdout

    def test_code_that_nothing_leads_to(self):
        status, said = self.check("`Requester::may_start`", "`DeadRule::follow`")
        self.assertEqual(status, 1)
        self.assertIn("R4: no shipped program can reach DeadRule::follow\n", said)
        self.assertIn(" 1 faults", said)

    def test_a_row_without_code(self):
        status, said = self.check("`Requester::may_start`", "")
        self.assertEqual(status, 1)
        self.assertIn("R4: no file, no function or no test\n", said)

    def test_a_change_that_does_no_harm(self):
        status, said = self.check("`Requester::may_start`", "`Requester::on_sack`")
        self.assertEqual(status, 0, said)


class Knobs(unittest.TestCase):
    HEADER = """
struct TransportConfig {
  uint32_t bound = 1;  // has_comment = 2;
  Nanoseconds assigned = 2;
  bool read_only = false;
  static constexpr uint32_t kMax = 3;
  bool in_tests_only = false;
};
"""
    SHIPPED = """
  whole_number("bound", 1, 2, &Transport::bound),
  engine.transport.assigned = config.mtu;
  answer = transport.read_only ? 1 : 0;
  if (transport.read_only == false) return;
"""

    def test_members(self):
        self.assertEqual(protocol_rules.knobs(self.HEADER), ["bound", "assigned", "read_only", "in_tests_only"])

    def test_what_nobody_sets(self):
        faults = protocol_rules.faults_of_knobs(self.HEADER, self.SHIPPED)
        self.assertEqual([fault.split(":")[0] for fault in faults], ["read_only", "in_tests_only"])

    def test_members_of_members(self):
        header = self.HEADER.replace("TransportConfig", "InteropConfig")
        shipped = self.SHIPPED.replace("&Transport::", "&InteropConfig::").replace("transport", "transport.interop")
        faults = protocol_rules.faults_of_knobs(header, shipped, "InteropConfig")
        self.assertEqual([fault.split(":")[0] for fault in faults], ["read_only", "in_tests_only"])
        self.assertEqual(len(protocol_rules.faults_of_knobs(header, self.SHIPPED, "InteropConfig")), 4)

    MAKER = """
NsccConfig %s(const Profile& from, const NsccConfig& device) {
  NsccConfig to = device;
  to.bound = from.bound;
  return to;
}
"""

    def test_what_a_shipped_function_makes(self):
        header = self.HEADER.replace("TransportConfig", "NsccConfig")
        maker = self.MAKER % "nscc_of"
        for shipped, makers, left in (
            (maker + "  all = nscc_of(profile, device);\n", "", 3),
            ("  all = nscc_of(profile, device);\n", maker, 3),
            (maker, "", 4),
            ("", maker, 4),
        ):
            self.assertEqual(len(protocol_rules.faults_of_knobs(header, shipped, "NsccConfig", makers)), left)

    PATHS = """
void Transport::make_paths() {
  PathSetConfig config;
  config.bound = transport.paths;
  config.assigned = terms_.paths.value_or(transport.paths);
  config.read_only = true;
}
"""

    def test_paths(self):
        header = self.HEADER.replace("TransportConfig", "PathSetConfig")
        faults = protocol_rules.faults_of_path_knobs(header, self.PATHS)
        self.assertEqual([fault.split(":")[0] for fault in faults], ["read_only", "in_tests_only"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

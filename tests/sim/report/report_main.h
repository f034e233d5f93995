// SPDX-License-Identifier: BSD-2-Clause
// mrc_sim report: all scenarios, one page.
#pragma once

namespace mrc::sim {

extern const char* const kReportUsage;
// Arguments behind "report". The exit status: 0 all targets met, 1 one was missed, 2 wrong usage.
int report_main(int count, char** words);

}  // namespace mrc::sim

// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/verbs/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "dpdk_io/host/cancellation.h"

namespace mrc::provider {

constinit CountedClock<ProcessorCounter> provider_clock{ProcessorCounter{}};

bool ProcessorCounter::is_even() {
  const WithoutCancellation meanwhile;  // who is here has the clock's flag, and may have a lock
  const int file =
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[64];
  const ssize_t bytes = read(file, text, sizeof text);
  close(file);
  const std::string_view name(text, bytes < 0 ? 0 : static_cast<size_t>(bytes));
  return name == "arch_sys_counter\n" || name == "tsc\n";
}

}  // namespace mrc::provider

// SPDX-License-Identifier: BSD-2-Clause
// Which process of this host has which port: one small file per port space and port in the run directory,
// with a line for every id that is bound to it, on each of its devices. Lines of processes that are gone do
// not count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libmrc/cm/identifiers.h"
#include "libmrc/cm/ip_service.h"
#include "libmrc/wire/time.h"

namespace mrc::provider {

class PortRegistry {
 public:
  // What is bound here is so on the given device, by its place in the settings; `slot` is that device's.
  PortRegistry(const std::string& run_directory, uint32_t slot, uint32_t device);

  struct Binding {
    cm::ServiceId service{};
    cm::BoundAddress address;
    bool shared = false;  // REUSEADDR: until one of them listens
    bool listening = false;
  };
  // 0, EADDRINUSE, or what the file system says.
  int add(const Binding& binding);
  // The same binding, from now on listening.
  int listen(const Binding& binding);
  void stop_listening(const Binding& binding);
  void remove(const Binding& binding);
  void remove_all();

  // The slot of the process that listens on that device for connections to this address; 0: nobody. Asked for
  // every message that arrives, so it opens files only when something has changed, or once in a while.
  uint32_t find_listener(cm::ServiceId service, const IpAddress& address, uint32_t device,
                         Nanoseconds now) const;
  bool in_use(cm::ServiceId service) const;

 private:
  struct Line {
    uint32_t slot = 0;
    uint64_t incarnation = 0;
    uint32_t device = 0;
    Binding binding;
  };

  void remove_files_of_the_dead() const;
  void look_around(Nanoseconds now) const;
  std::string file_of(cm::ServiceId service) const;
  // Those of processes that live. `foreign`: whether there is text in the file that none of us has written.
  std::vector<Line> read(cm::ServiceId service, bool* foreign = nullptr) const;
  int write(cm::ServiceId service, const std::vector<Line>& lines) const;
  bool ours(const Line& line, const Binding& binding) const;
  // An address belongs to one device, and the wildcard has a line for each.
  bool conflict(const Line& line, const Binding& binding) const {
    return line.device == device_ && line.binding.address.conflicts_with(binding.address);
  }

  const std::string run_directory_;
  const uint32_t slot_;
  const uint32_t device_;
  uint64_t incarnation_ = 0;
  std::vector<Binding> own_;
  // What the files said when they were last looked at.
  mutable std::map<cm::ServiceId, std::vector<Line>> known_;
  mutable Nanoseconds known_until_ = 0;  // 0: not at all
  mutable Nanoseconds unchanged_until_ = 0;
  mutable Nanoseconds changed_at_ = 0;
};

}  // namespace mrc::provider

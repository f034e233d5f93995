// SPDX-License-Identifier: BSD-2-Clause
// Which of the processes that share an interface answers what is for none of them in particular: the one that
// has the interface's voice. It dies with the process, and another one takes it.
#pragma once

#include <string>

namespace mrc {

class HostVoice {
 public:
  // An interface that no other process can share (a device of its own) has no name.
  explicit HostVoice(const std::string& interface);
  ~HostVoice();
  HostVoice(const HostVoice&) = delete;
  HostVoice& operator=(const HostVoice&) = delete;

  // Takes it if it is free. True: this process has it, now or since earlier. Cheap; no file is opened.
  bool claim();

 private:
  const std::string interface_;
  int fd_ = -1;
  bool ours_ = false;
};

}  // namespace mrc

// SPDX-License-Identifier: BSD-2-Clause
// Delay without netem, which many kernels lack: the BPF program of a port redirects its frames to a tap; a
// thread here reads them, keeps them for a while and lets them go on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "examples/lab/topology.h"

namespace mrc::lab {

class DelayLine;

class DelayLines {
 public:
  struct Place {
    const Port& port;
    bool ingress;
    int namespace_fd;
  };

  DelayLines();
  ~DelayLines();
  // 0 us: none any more. `tap` gets the interface that frames have to go to, 0 if there is no delay.
  bool set(const Place& place, uint64_t delay_us, uint32_t mtu, uint32_t* tap, std::string* error);

 private:
  std::map<std::pair<uint32_t, bool>, std::unique_ptr<DelayLine>> lines_;
};

}  // namespace mrc::lab

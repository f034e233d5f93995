// SPDX-License-Identifier: BSD-2-Clause
// The BPF program behind all ports of a fabric: loaded once, attached to every switch port, its settings
// changed through a map.
#pragma once

#include <cstdint>
#include <string>

#include "examples/lab/fabric.h"
#include "examples/lab/impair.h"

struct bpf_object;

namespace mrc::lab {

class Impairments {
 public:
  Impairments() = default;
  ~Impairments();
  Impairments(const Impairments&) = delete;
  Impairments& operator=(const Impairments&) = delete;

  // False: `why_not` says what is missing; the fabric works without.
  bool load(Fabric* fabric);
  bool available() const { return object_ != nullptr; }
  const std::string& why_not() const { return why_not_; }

  // 0 or an errno. `direction` is LAB_EGRESS or LAB_INGRESS as the switch sees it.
  int set(uint32_t ifindex, uint32_t direction, const lab_port_settings& settings);
  lab_port_counts counts(uint32_t ifindex, uint32_t direction) const;

 private:
  bool open_and_load();
  bool attach(Fabric* fabric);
  bool fail(const std::string& what, int why);

  bpf_object* object_ = nullptr;
  int settings_ = -1;
  int counts_ = -1;
  std::string why_not_;
};

}  // namespace mrc::lab

// SPDX-License-Identifier: BSD-2-Clause
// Breaks a fabric and mends it: keeps what is wrong with every direction of every link and tells the kernel.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/lab/delay_line.h"
#include "examples/lab/fabric.h"
#include "examples/lab/fault.h"
#include "examples/lab/impairments.h"

namespace mrc::lab {

class Faults {
 public:
  Faults(Fabric* fabric, Impairments* impairments);

  // Sets every port to healthy. Once, after the programs are attached.
  void start();
  // False: `error` says why; part of a target may have changed.
  bool apply(const Fault& fault, std::string* error);
  nlohmann::json describe() const;  // one entry per link

 private:
  struct Condition {
    bool black_hole = false;
    uint32_t loss_ppm = 0;
    uint32_t ce_ppm = 0;
    uint32_t trim_ppm = 0;
    uint64_t rate_bps = 0;
    uint64_t delay_us = 0;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  // The switch port where a direction is impaired.
  struct Place {
    const Port* port;
    uint32_t direction;
  };

  Condition& condition(const Direction& where) { return conditions_[where.link * 2 + (where.up ? 1 : 0)]; }
  Place place(const Direction& where) const;
  bool change(const Fault& fault, const Direction& where, std::string* error);
  bool enforce(const Direction& where, std::string* error);
  bool enforce_delay(const Direction& where, uint32_t* tap, std::string* error);
  nlohmann::json describe(const Direction& where) const;

  Fabric* fabric_;
  Impairments* impairments_;
  DelayLines delay_lines_;
  std::vector<Condition> conditions_;
};

}  // namespace mrc::lab

// SPDX-License-Identifier: BSD-2-Clause
// The process that a lab lives in. It is the first process of a PID namespace and alone has the network
// namespaces open: when it ends, even by kill -9, the kernel ends every program in the lab and takes the
// fabric down.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "examples/lab/fabric.h"
#include "examples/lab/faults.h"
#include "examples/lab/impairments.h"
#include "examples/lab/state.h"

namespace mrc::lab {

class Holder {
 public:
  Holder(const State& state, const Shape& shape, bool rootless)
      : state_(state), fabric_(shape), faults_(&fabric_, &impairments_), rootless_(rootless) {}

  bool build(std::string* error);
  // Until somebody asks it to end.
  void serve();

 private:
  bool write_host_files(std::string* error);
  void prepare_mounts();
  void answer(int socket);
  nlohmann::json handle(const nlohmann::json& question, std::vector<int>* files);
  nlohmann::json handle_fault(const nlohmann::json& question);
  nlohmann::json handle_enter(const nlohmann::json& question, std::vector<int>* files);
  nlohmann::json describe() const;
  // Faults whose time has come; milliseconds until the next one, or -1.
  int run_due_faults();

  struct Pending {
    uint64_t due_us;
    Fault fault;
  };

  State state_;
  Fabric fabric_;
  Impairments impairments_;
  Faults faults_;
  bool rootless_;
  bool ending_ = false;
  uint64_t started_us_ = 0;
  Fd listening_;
  Fd user_namespace_;
  Fd mount_namespace_;
  Fd process_namespace_;
  std::deque<Pending> pending_;  // by time
  std::vector<std::string> failed_;
};

}  // namespace mrc::lab

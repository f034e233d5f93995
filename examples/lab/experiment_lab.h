// SPDX-License-Identifier: BSD-2-Clause
// A lab for one experiment and the programs that run in it. It ends with the experiment, also when that is
// killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/lab/state.h"
#include "examples/lab/topology.h"
#include "examples/shared/child_process.h"

namespace mrc::lab {

class ExperimentLab {
 public:
  explicit ExperimentLab(const Shape& shape);
  ~ExperimentLab();
  ExperimentLab(const ExperimentLab&) = delete;
  ExperimentLab& operator=(const ExperimentLab&) = delete;

  // Empty: it is up.
  const std::string& trouble() const { return trouble_; }
  const State& state() const { return state_; }
  // `steps` as on the command line.
  void fault(const std::string& steps);
  // mrc_lab exec HOST -- WORDS.
  std::unique_ptr<bench::Process> start(const std::string& node, const std::vector<std::string>& words,
                                        double seconds_max) const;
  // Frames counted so far in one direction, as "p1l1:p1s1".
  uint64_t frames(const std::string& direction);
  bool somebody_listens(const std::string& host, unsigned port) const;
  // Puts a setting into a section of a host's file.
  void change_setting(const std::string& host, const std::string& section, const std::string& key,
                      const std::string& value) const;
  // One that no other program of this lab was given.
  unsigned next_port() { return next_port_++; }

 private:
  State state_;
  pid_t process_ = -1;
  unsigned next_port_ = 21000;
  std::string trouble_;
};

// A server and a client of perftest, or of any program that takes -p PORT and the server's name.
class Flow {
 public:
  struct Options {
    std::vector<std::string> words;  // the program and its options
    std::vector<std::string> environment;
    std::string port_option = "-p";
    std::vector<std::string> server_words;  // only for the server, and before the name for the client
    std::vector<std::string> client_words;
    double seconds_max = 60;
  };

  // Returns when the client has been started.
  Flow(ExperimentLab* lab, std::string from, std::string to, const Options& options);
  const std::string& from() const { return from_; }
  const std::string& to() const { return to_; }
  // Waits for both. Empty: both say that all went well; else what they said.
  std::string finish();

 private:
  std::string from_;
  std::string to_;
  std::unique_ptr<bench::Process> server_;
  std::unique_ptr<bench::Process> client_;
};

// ib_write_bw for so many seconds.
Flow::Options write_flow(double seconds);
// write_check, which compares every byte.
Flow::Options checked_flow(double seconds);

}  // namespace mrc::lab

// SPDX-License-Identifier: BSD-2-Clause
// Where a lab keeps what others must find: a directory per lab with the control socket, a lock that is held
// as long as the lab lives, and a directory per host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "examples/lab/netlink.h"

namespace mrc::lab {

// A directory appears with its lock taken and disappears as a whole, so at any moment it is either that of a
// running lab or one that may be removed.
class State {
 public:
  explicit State(std::string lab) : lab_(std::move(lab)) {}

  const std::string& lab() const { return lab_; }
  std::string directory() const { return base() + "/" + lab_; }
  std::string control_socket() const { return directory() + "/control"; }
  std::string lock_file() const { return directory() + "/lock"; }
  std::string hosts_file() const { return directory() + "/hosts"; }
  std::string fabric_names_file() const { return directory() + "/names"; }
  std::string log_file() const { return directory() + "/log"; }
  std::string host_directory(const std::string& host) const { return directory() + "/" + host; }
  std::string config_file(const std::string& host) const { return host_directory(host) + "/mrc.toml"; }
  std::string host_list_file() const { return directory() + "/hosts.toml"; }  // that all settings name
  std::string run_directory(const std::string& host) const { return host_directory(host) + "/run"; }

  // Makes the directory and takes the lock; what a dead lab of this name left is removed. Nothing: `error`
  // says why, for example that it runs already.
  Fd claim(std::string* error) const;
  bool is_running() const;
  bool exists() const;
  // What a lab left that runs no more, and what was left half made or half removed; nothing of a running one.
  void remove() const;
  // Of the caller's own lab, whose lock it holds.
  void remove_own() const;

  // MRC_LAB_DIR, else /run/mrc-lab for root, else /tmp/mrc-lab-<uid>.
  static std::string base();
  static std::vector<std::string> all_labs();
  static bool valid_name(const std::string& lab);

 private:
  Fd make_directory() const;

  std::string lab_;
};

}  // namespace mrc::lab

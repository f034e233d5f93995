// SPDX-License-Identifier: BSD-2-Clause
// Serves the metrics of a run directory over HTTP, to this host alone: GET /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace mrc {

class MetricsServer {
 public:
  MetricsServer() = default;
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Listens on 127.0.0.1. False: `error` says why.
  bool open(uint16_t port, std::string* error);
  // From now on, in a thread of its own, until it is destroyed.
  void run_beside(const std::string& run_directory);

 private:
  void run(const std::string& run_directory);

  int socket_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace mrc

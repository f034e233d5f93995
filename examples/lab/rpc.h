// SPDX-License-Identifier: BSD-2-Clause
// How the commands of mrc_lab talk to the process that holds a lab: one line of JSON each way over a socket
// in the lab's directory, with file descriptors beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/lab/netlink.h"
#include "examples/lab/state.h"

namespace mrc::lab {

// False: there is no such lab or it refused; `error` says so.
bool ask(const State& state, const nlohmann::json& question, nlohmann::json* answer, std::vector<Fd>* files,
         std::string* error);

Fd listen_for_questions(const State& state, std::string* error);
// Waits for one line, for a second at most. False: none came.
bool read_line(int socket, std::string* line);
bool write_line(int socket, const std::string& line, const std::vector<int>& files = {});

}  // namespace mrc::lab

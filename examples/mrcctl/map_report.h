// SPDX-License-Identifier: BSD-2-Clause
// What mrcctl map says: words, JSON that can be read again, and a denylist.
#pragma once

#include <string>
#include <vector>

#include "examples/mrcctl/fabric_names.h"
#include "examples/mrcctl/fabric_verdict.h"

namespace mrc {

std::string verdict_in_words(const FabricVerdict& verdict, const FabricNames& names);
std::string verdict_in_json(const FabricVerdict& verdict, const std::vector<RouteResult>& results,
                            const FabricNames& names);
// The routes of such a text. False: it is none.
bool read_results(const std::string& json, std::vector<RouteResult>* results);

// For mrcctl ev load: as a whole or not at all. False: `error` says why.
bool write_denylist(const std::string& file, const FabricVerdict& verdict, const FabricNames& names,
                    std::string* error);

}  // namespace mrc

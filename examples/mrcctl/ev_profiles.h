// SPDX-License-Identifier: BSD-2-Clause
// The EV profiles of a device, read by the functions of mrc_ctl.h, and EVs as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/mrcctl/open_device.h"

namespace mrc {

struct EvProfileView {
  uint64_t id = 0;
  mrc_ctl_ev_fmt_mode format{};  // 0: none is set
  mrc_ctl_ev_profile_attr attributes{};
  std::vector<mrc_ctl_ev_op_entry> evs;
};

// 0 or an errno.
int read_ev_profiles(OpenDevice& device, std::vector<EvProfileView>* profiles);
// Denies EVs of a profile, or allows them again. 0 or an errno.
int set_ev_states(OpenDevice& device, uint64_t profile, const std::vector<mrc_ctl_ev>& evs,
                  mrc_ctl_ev_state state);

// SRv6: an address, and behind a '+' the segment if there is one; else 0x and digits.
std::string ev_text(mrc_ctl_ev_fmt_mode format, const mrc_ctl_ev& ev);
// PORT/EV, as a profile of this format has them.
std::optional<mrc_ctl_ev> ev_in(mrc_ctl_ev_fmt_mode format, const std::string& text);

const char* word_of(mrc_ctl_profile_state state);
const char* word_of(mrc_ctl_ev_mode mode);
const char* word_of(mrc_ctl_ev_fmt_mode mode);
const char* word_of(mrc_ctl_ev_state state);

}  // namespace mrc

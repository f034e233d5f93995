// SPDX-License-Identifier: BSD-2-Clause
// The one transport that a queue pair has. Callers name what they want of it; which one it is costs a
// comparison.
#pragma once

#include <utility>
#include <variant>

#include "libmrc/datagram/datagram.h"
#include "libmrc/datagram/raw_packets.h"
#include "libmrc/mrc/mrc_transport.h"
#include "libmrc/qp/unconnected.h"
#include "libmrc/rc/rc_transport.h"

namespace mrc {

class AnyTransport {
 public:
  template <typename T, typename... Arguments>
  void make(Arguments&&... arguments) {
    any_.emplace<T>(std::forward<Arguments>(arguments)...);
  }
  // Null if it is another one.
  template <typename T>
  T* as() {
    return std::get_if<T>(&any_);
  }
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&any_);
  }
  // Calls with the transport as what it is. What all of them have is named alike: see IsTransport.
  template <typename Act>
  auto call(Act&& act) {
    return call_with(*this, act);
  }
  template <typename Act>
  auto call(Act&& act) const {
    return call_with(*this, act);
  }

 private:
  template <typename Self, typename Act>
  static auto call_with(Self& self, Act& act) {
    if (auto* mrc = self.template as<MrcTransport>()) [[likely]]
      return act(*mrc);
    if (auto* rc = self.template as<RcTransport>()) return act(*rc);
    if (auto* datagrams = self.template as<Datagram>()) return act(*datagrams);
    if (auto* raw = self.template as<RawPackets>()) return act(*raw);
    return act(*self.template as<Unconnected>());
  }

  std::variant<Unconnected, MrcTransport, RcTransport, Datagram, RawPackets> any_;
};

}  // namespace mrc

// SPDX-License-Identifier: BSD-2-Clause
// What protocol_rules.py must find: code that is linked into the library, and that nothing leads to.

namespace mrc {

class DeadRule {
 public:
  int follow(int packets);
};

int DeadRule::follow(int packets) {
  return packets + 1;
}

}  // namespace mrc

// SPDX-License-Identifier: BSD-2-Clause
// Which program has which slot, as mrcd allots them: the upper part of its QP numbers, and so what is handed
// to it of all that arrives. A file, so that an mrcd that was killed and started again knows who had what:
// with the token that it was given a program gets its slot back, and nobody else does meanwhile.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "dpdk_io/host/slot_number.h"
#include "libmrc/wire/time.h"

namespace mrc {

class SlotLedger {
 public:
  // How long a slot waits: after a restart for the program that had it; after a program's end before another
  // user gets it, to whom the rest of what others had sent would be handed.
  static constexpr Nanoseconds kRest = 60 * kSecond;

  // `path`: a file of this user alone, in a directory that others cannot write. Null: `error` says why.
  static std::unique_ptr<SlotLedger> open(const std::string& path, Nanoseconds now, std::string* error);
  ~SlotLedger();
  SlotLedger(const SlotLedger&) = delete;
  SlotLedger& operator=(const SlotLedger&) = delete;

  // Whether the user may have a slot that nobody uses now; `token`: given to him earlier, 0: he had none.
  bool admits(uint32_t slot, uid_t user, uint64_t token, Nanoseconds now) const;
  // How many slots the user has or keeps others from, and whether this is one of them.
  size_t count_of(uid_t user, Nanoseconds now) const;
  bool is_of(uint32_t slot, uid_t user, Nanoseconds now) const;
  // Whether this token is the slot's: it was given out for it, and the slot not given back.
  bool has(uint32_t slot, uint64_t token) const { return token != 0 && file_->records[slot].token == token; }
  // The slot is the user's; the token to come back with, which is the one he has if it is the slot's: he may
  // not hear of another one before this process is killed.
  uint64_t take(uint32_t slot, uid_t user, uint64_t token = 0);
  void give_back(uint32_t slot, Nanoseconds now);
  // Removes the file: nobody is left who could come back.
  void forget();

 private:
  struct Record {
    uint64_t token;  // 0: nobody has it
    uint32_t user;
    uint32_t used;  // somebody has it, or had it
  };
  struct File {
    static constexpr uint64_t kMagic = 0x4D52434C45444732;  // "MRCLEDG2"
    uint64_t magic;
    uint64_t reserved;
    std::array<Record, kSlotMax + 1> records;
  };
  SlotLedger(const std::string& path, File* file) : path_(path), file_(file) {}

  const std::string path_;
  File* const file_;
  std::array<Nanoseconds, kSlotMax + 1> rests_until_{};
};

}  // namespace mrc

// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/memory/place_bytes.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace mrc {
namespace {

using Block = uint8_t __attribute__((vector_size(16)));
constexpr size_t kBlock = sizeof(Block);
constexpr size_t kWord = sizeof(uint64_t);

// When an application may look at its memory is for its peers to say, by messages that ThreadSanitizer does
// not follow. (To suppress what it would report is no way: it looks up the names of functions first, which
// stops the process for seconds.)
#define MRC_APPLICATION_MEMORY gnu::no_sanitize_thread

// One load and one store. The compiler may neither merge it with the next, nor move it, nor make a call of
// it.
template <typename Piece>
[[gnu::always_inline, MRC_APPLICATION_MEMORY]] inline void move_piece(uint8_t* to, const uint8_t* from) {
  Piece piece;
  __builtin_memcpy(&piece, from, sizeof piece);
  __builtin_memcpy(to, &piece, sizeof piece);
  asm volatile("" ::: "memory");
}

[[MRC_APPLICATION_MEMORY]] void move_small(uint8_t* to, const uint8_t* from, size_t bytes) {
  switch (bytes) {
    case 1:
      return move_piece<uint8_t>(to, from);
    case 2:
      return move_piece<uint16_t>(to, from);
    case 4:
      return move_piece<uint32_t>(to, from);
    default:
      return move_piece<uint64_t>(to, from);
  }
}

// Whoever polls looks at the end.
[[gnu::always_inline]] inline void finish_before_the_last() {
  std::atomic_thread_fence(std::memory_order_release);
}

// The largest word that may begin there.
size_t piece_at(const uint8_t* to, size_t left) {
  const size_t aligned = size_t{1} << std::countr_zero(reinterpret_cast<uintptr_t>(to) | kWord);
  return std::min(aligned, std::bit_floor(left));
}

}  // namespace

[[gnu::hot, MRC_APPLICATION_MEMORY]] void place_bytes(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes == 0) return;
  const auto step = [&](size_t count) {
    to += count;
    from += count;
    bytes -= count;
  };
  while (reinterpret_cast<uintptr_t>(to) % kWord != 0 && bytes > kWord) {
    const size_t piece = piece_at(to, bytes);
    move_small(to, from, piece);
    step(piece);
  }
  if (reinterpret_cast<uintptr_t>(to) % kBlock != 0 && bytes > kBlock) {
    move_piece<uint64_t>(to, from);
    step(kWord);
  }
  if (bytes > kBlock) {
    while (bytes > 4 * kBlock) {
      move_piece<Block>(to, from);
      move_piece<Block>(to + kBlock, from + kBlock);
      move_piece<Block>(to + 2 * kBlock, from + 2 * kBlock);
      move_piece<Block>(to + 3 * kBlock, from + 3 * kBlock);
      step(4 * kBlock);
    }
    const size_t blocks = (bytes - 1) / kBlock;  // 0 to 3
    if (blocks > 0) move_piece<Block>(to, from);
    if (blocks > 1) move_piece<Block>(to + kBlock, from + kBlock);
    if (blocks > 2) move_piece<Block>(to + 2 * kBlock, from + 2 * kBlock);
    step(blocks * kBlock);
  }
  if (reinterpret_cast<uintptr_t>(to) % kWord == 0) {
    if (bytes > kWord) {
      move_piece<uint64_t>(to, from);
      step(kWord);
    }
    if (bytes == kWord) {
      finish_before_the_last();
      return move_piece<uint64_t>(to, from);
    }
  }
  for (;;) {
    const size_t piece = piece_at(to, bytes);
    if (piece == bytes) break;
    move_small(to, from, piece);
    step(piece);
  }
  finish_before_the_last();
  move_small(to, from, bytes);
}

}  // namespace mrc

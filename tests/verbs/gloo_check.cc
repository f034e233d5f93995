// SPDX-License-Identifier: BSD-2-Clause
// One rank of an all-reduce by gloo over its ibverbs transport; every value of every result is checked.
//   gloo_check RANK RANKS DIRECTORY      the directory is where the ranks find each other
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Ranks = std::shared_ptr<gloo::rendezvous::Context>;

int64_t value_of(int rank, size_t index, int round) {
  return (rank + 1) * 1'000'003LL + static_cast<int64_t>(index) * (rank + 7) + round;
}

// Several rounds with the same buffers: what a slow rank still reads must not be overwritten. They are never
// freed: gloo ends the process if a buffer goes before its last send is complete, and does not tell when that
// is.
template <typename Algorithm>
void all_reduce(const char* name, const Ranks& ranks, size_t count) {
  auto& values = *new std::vector<int64_t>(count);
  auto& algorithm = *new Algorithm(ranks, std::vector<int64_t*>{values.data()}, static_cast<int>(count));
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < count; ++i) values[i] = value_of(ranks->rank, i, round);
    algorithm.run();
    for (size_t i = 0; i < count; ++i) {
      int64_t sum = 0;
      for (int rank = 0; rank < ranks->size; ++rank) sum += value_of(rank, i, round);
      if (values[i] != sum)
        throw std::runtime_error(std::string(name) + ": value " + std::to_string(i) + " of " +
                                 std::to_string(count) + " in round " + std::to_string(round) + " is " +
                                 std::to_string(values[i]) + ", not " + std::to_string(sum));
    }
  }
}

void check(int rank, int size, const char* directory) {
  auto device = gloo::transport::ibverbs::CreateDevice({"mrc0", 1, 0});
  auto& ranks = *new Ranks(std::make_shared<gloo::rendezvous::Context>(rank, size));
  gloo::rendezvous::FileStore store(directory);
  ranks->connectFullMesh(store, device);
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{100'003}}) {
    all_reduce<gloo::AllreduceRing<int64_t>>("ring", ranks, count);
    all_reduce<gloo::AllreduceRingChunked<int64_t>>("chunked ring", ranks, count);
    all_reduce<gloo::AllreduceHalvingDoubling<int64_t>>("halving and doubling", ranks, count);
  }
  (new gloo::BarrierAllToAll(ranks))->run();  // nobody leaves before the others are done
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: gloo_check RANK RANKS DIRECTORY\n");
    return 2;
  }
  try {
    check(std::atoi(argv[1]), std::atoi(argv[2]), argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_check: rank %s: %s\n", argv[1], error.what());
    return 1;
  }
  std::printf("gloo_check: rank %s of %s, all values are right\n", argv[1], argv[2]);
  return 0;
}

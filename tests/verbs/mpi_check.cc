// SPDX-License-Identifier: BSD-2-Clause
// An MPI program that checks every byte: send/receive between all pairs of ranks, allreduce, alltoall, and
// one-sided put, get and fetch-and-op, for sizes from 0 to 16 MiB. Run it with any number of ranks from 2 on:
//   mpirun -np 2 mpi_check [--max BYTES]
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int rank_number, rank_count;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "FAILED: rank %d: %s\n", rank_number, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// The byte at `at` of what `from` sends to `to` in test `test`.
uint8_t byte_of(int test, int from, int to, size_t at) {
  uint64_t x = at * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(test * 1'000'003 + from * 1009 + to);
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return static_cast<uint8_t>(x >> 56);
}

void fill(uint8_t* to, size_t bytes, int test, int from, int receiver) {
  for (size_t i = 0; i < bytes; ++i) to[i] = byte_of(test, from, receiver, i);
}

void check(const uint8_t* at, size_t bytes, int test, int from, int receiver, const char* what) {
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != byte_of(test, from, receiver, i))
      fail(std::string(what) + " of " + std::to_string(bytes) + " bytes from rank " + std::to_string(from) +
           ": byte " + std::to_string(i) + " is wrong");
}

// Everybody to everybody at once; receives are posted before, or after, the sends.
void exchange(size_t bytes, bool receive_first, int test) {
  std::vector<std::vector<uint8_t>> out(rank_count), in(rank_count);
  std::vector<MPI_Request> requests;
  auto receive = [&] {
    for (int peer = 0; peer < rank_count; ++peer) {
      if (peer == rank_number) continue;
      in[peer].assign(bytes + 1, 0x5a);
      MPI_Irecv(in[peer].data(), static_cast<int>(bytes), MPI_BYTE, peer, test, MPI_COMM_WORLD,
                &requests.emplace_back());
    }
  };
  if (receive_first) receive();
  for (int peer = 0; peer < rank_count; ++peer) {
    if (peer == rank_number) continue;
    out[peer].resize(bytes);
    fill(out[peer].data(), bytes, test, rank_number, peer);
    MPI_Isend(out[peer].data(), static_cast<int>(bytes), MPI_BYTE, peer, test, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  if (!receive_first) receive();
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < rank_count; ++peer) {
    if (peer == rank_number) continue;
    check(in[peer].data(), bytes, test, peer, rank_number, "message");
    if (in[peer][bytes] != 0x5a) fail("a message wrote past its end");
  }
}

void allreduce(size_t bytes) {
  const size_t count = bytes / sizeof(uint64_t);
  std::vector<uint64_t> in(count), sum(count);
  for (size_t i = 0; i < count; ++i) in[i] = i * 7 + static_cast<uint64_t>(rank_number);
  MPI_Allreduce(in.data(), sum.data(), static_cast<int>(count), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const auto ranks = static_cast<uint64_t>(rank_count);
  for (size_t i = 0; i < count; ++i)
    if (sum[i] != i * 7 * ranks + ranks * (ranks - 1) / 2)
      fail("allreduce of " + std::to_string(bytes) + " bytes: element " + std::to_string(i) + " is wrong");
}

void alltoall(size_t bytes, int test) {
  std::vector<uint8_t> out(bytes * rank_count), in(bytes * rank_count);
  for (int peer = 0; peer < rank_count; ++peer)
    fill(out.data() + peer * bytes, bytes, test, rank_number, peer);
  MPI_Alltoall(out.data(), static_cast<int>(bytes), MPI_BYTE, in.data(), static_cast<int>(bytes), MPI_BYTE,
               MPI_COMM_WORLD);
  for (int peer = 0; peer < rank_count; ++peer)
    check(in.data() + peer * bytes, bytes, test, peer, rank_number, "alltoall");
}

// Each rank has a window with a place for every other; it puts into its own place at the next rank, reads it
// back, and the owner looks too.
void one_sided(size_t bytes, int test) {
  uint8_t* window_memory = nullptr;
  MPI_Win window;
  const auto place = static_cast<MPI_Aint>(bytes);
  MPI_Win_allocate(place * rank_count, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_memory, &window);
  std::memset(window_memory, 0, bytes * rank_count);
  const int right = (rank_number + 1) % rank_count, left = (rank_number + rank_count - 1) % rank_count;
  std::vector<uint8_t> out(bytes), back(bytes);
  fill(out.data(), bytes, test, rank_number, right);
  MPI_Win_fence(0, window);
  MPI_Put(out.data(), static_cast<int>(bytes), MPI_BYTE, right, place * rank_number, static_cast<int>(bytes),
          MPI_BYTE, window);
  MPI_Win_fence(0, window);
  check(window_memory + bytes * left, bytes, test, left, rank_number, "put");
  MPI_Get(back.data(), static_cast<int>(bytes), MPI_BYTE, right, place * rank_number, static_cast<int>(bytes),
          MPI_BYTE, window);
  MPI_Win_fence(0, window);
  check(back.data(), bytes, test, rank_number, right, "get");
  MPI_Win_free(&window);
}

// Everybody takes numbers from a counter of rank 0: each number exactly once.
void fetch_and_op() {
  constexpr int kTurns = 200;
  int64_t* counter = nullptr;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<int> taken(static_cast<size_t>(kTurns) * rank_count), all(taken.size());
  MPI_Win_lock_all(0, window);
  const int64_t one = 1;
  for (int i = 0; i < kTurns; ++i) {
    int64_t number = -1;
    MPI_Fetch_and_op(&one, &number, MPI_INT64_T, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    if (number < 0 || static_cast<size_t>(number) >= taken.size())
      fail("fetch-and-op gave a number out of range");
    ++taken[static_cast<size_t>(number)];
  }
  MPI_Win_unlock_all(window);
  MPI_Allreduce(taken.data(), all.data(), static_cast<int>(all.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (const int times : all)
    if (times != 1) fail("fetch-and-op gave a number " + std::to_string(times) + " times");
  MPI_Win_free(&window);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_number);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  size_t bytes_max = 16u << 20;
  if (argc == 3 && std::strcmp(argv[1], "--max") == 0) bytes_max = std::strtoull(argv[2], nullptr, 0);
  if (rank_count < 2) fail("needs at least two ranks");
  int test = 1;
  for (const size_t bytes : {0u, 1u, 7u, 8u, 63u, 64u, 65u, 1000u, 4095u, 4096u, 4097u, 8192u, 65535u, 65536u,
                             262'144u, 1'048'577u, 4u << 20, 16u << 20}) {
    if (bytes > bytes_max) break;
    exchange(bytes, true, ++test);
    exchange(bytes, false, ++test);
    allreduce(bytes);
    alltoall(bytes, ++test);
    if (bytes > 0) one_sided(bytes, ++test);
  }
  fetch_and_op();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_number == 0) std::printf("mpi_check: %d ranks, all bytes are right\n", rank_count);
  MPI_Finalize();
  return 0;
}

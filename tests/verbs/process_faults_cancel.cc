// SPDX-License-Identifier: BSD-2-Clause
// A thread that posts, polls and makes objects is cancelled: it must not take a lock of the device with it.
// What it was doing goes on in another thread.
#include <pthread.h>

#include <cerrno>
#include <cstring>

#include "tests/verbs/process_faults_faults.h"

namespace process_faults {
namespace {

using verbs_test::fail;

struct Worker {
  Cycle& cycle;
  Session& session;
  uint64_t turns = 0;
};

// Objects that come and go: their calls wait for the device's lock, and those who wait sleep.
void use_objects(const verbs_test::Device& device, uint8_t* memory) {
  const int access = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* region = ibv_reg_mr(device.domain, memory, 4096, access);
  if (region == nullptr || ibv_dereg_mr(region) != 0) fail("a region cannot be made or ended");
  ibv_cq* queue = ibv_create_cq(device.context, 16, nullptr, nullptr, 0);
  if (queue == nullptr || ibv_destroy_cq(queue) != 0) fail("a completion queue cannot be made or ended");
}

void* work(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  for (;; ++worker->turns) {
    Link* link = worker->session.link();
    link->drive();
    if (worker->turns % 4 == 0) use_objects(worker->cycle.survivor.device, link->arena().at(Part::kShared));
    pthread_testcancel();
  }
}

}  // namespace

void attempt_cancel(Cycle& cycle) {
  Session session(cycle);
  session.connect(patient_terms(cycle));
  for (uint64_t threads = cycle.random.between(2, 6); threads > 0; --threads) {
    Worker worker{cycle, session};
    pthread_t thread;
    if (const int error = pthread_create(&thread, nullptr, work, &worker); error != 0)
      fail("pthread_create: %s", std::strerror(error));
    cycle.step("a thread that will be cancelled", kSlack);
    const timespec life{0, static_cast<long>(cycle.random_time(microseconds(5000)).count()) * 1000};
    nanosleep(&life, nullptr);
    pthread_cancel(thread);
    void* result = nullptr;
    while (pthread_tryjoin_np(thread, &result) == EBUSY) {
      cycle.check_step();
      sched_yield();
    }
    if (result != PTHREAD_CANCELED) fail("a thread that was cancelled returned");
    session.run(cycle.random_time(microseconds(2000)));
  }
  session.end();
  session.dismiss(true);
}

}  // namespace process_faults

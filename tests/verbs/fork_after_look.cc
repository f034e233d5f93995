// SPDX-License-Identifier: BSD-2-Clause
// A program that looks at the device or uses it, closes it and forks: the child may use the device as if
// nobody had. Servers do so: they look which devices there are and leave the work to children.
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

ibv_context* open_device() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i)
    if (std::strcmp(ibv_get_device_name(devices[i]), "mrc0") == 0) context = ibv_open_device(devices[i]);
  ibv_free_device_list(devices);
  return context;
}

// 0, or the number of the step that did not work.
int use_device() {
  alarm(60);
  static char memory[4096];
  ibv_context* context = open_device();
  if (context == nullptr) return 1;
  ibv_pd* domain = ibv_alloc_pd(context);
  if (domain == nullptr) return 2;
  ibv_mr* region = ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  if (region == nullptr) return 3;
  if (ibv_dereg_mr(region) != 0 || ibv_dealloc_pd(domain) != 0) return 4;
  return ibv_close_device(context) == 0 ? 0 : 5;
}

int status_of_child() {
  const pid_t child = fork();
  if (child == 0) _exit(use_device());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

}  // namespace

int main() {
  ibv_context* context = open_device();
  ibv_device_attr attributes;
  if (context == nullptr || ibv_query_device(context, &attributes) != 0) {
    std::printf("FAILED: mrc0 cannot be opened\n");
    return 1;
  }
  if (const int while_open = status_of_child(); while_open != 1) {
    std::printf("FAILED: a child of a process that has the device open got to step %d\n", while_open);
    return 1;
  }
  ibv_close_device(context);
  for (int i = 0; i < 2; ++i)
    if (const int status = status_of_child(); status != 0) {
      std::printf("FAILED: a child could not use the device, step %d\n", status);
      return 1;
    }
  if (const int status = use_device(); status != 0) {
    std::printf("FAILED: nor could the parent afterwards, step %d\n", status);
    return 1;
  }
  if (const int status = status_of_child(); status != 0) {
    std::printf("FAILED: a child of a parent that had used the device could not, step %d\n", status);
    return 1;
  }
  std::printf("children and parent used the device\n");
  return 0;
}

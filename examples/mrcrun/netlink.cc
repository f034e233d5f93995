// SPDX-License-Identifier: BSD-2-Clause
// A filter that makes the kernel look as if it had no RDMA netlink: then libibverbs reads the class tree. The
// filter stays for the program and all its children.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "examples/mrcrun/view.h"

namespace mrc {
namespace {

#if defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#elif defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
#error "the system calls of this machine are not known"
#endif
constexpr uint32_t kX32Bit =
    0x40000000;  // x86-64: the same call with 32-bit pointers; 0 in all others' numbers

bool kernel_has_rdma_netlink() {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
  if (fd < 0) return false;
  close(fd);
  return true;
}

}  // namespace

bool hide_rdma_netlink(std::string* error) {
  if (!kernel_has_rdma_netlink()) return true;
  // Arguments are 64 bits wide and the kernel looks at the lower half, which comes first on these machines.
  constexpr auto argument = [](unsigned n) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + n * sizeof(uint64_t));
  };
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, 8),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~kX32Bit),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(0)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_RDMA, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return true;
  // Without privilege only a process that can never gain any may set a filter.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
    return true;
  *error = std::string("the kernel's RDMA netlink cannot be hidden: ") + std::strerror(errno) +
           "; unload ib_core, or use a kernel with seccomp filters";
  return false;
}

}  // namespace mrc

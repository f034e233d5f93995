// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/impairments.h"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#ifdef MRC_LAB_BPF_OBJECT
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

// The compiled program is part of this one.
asm(".section .rodata\n"
    ".balign 16\n"
    "mrc_lab_bpf_begin:\n"
    ".incbin \"" MRC_LAB_BPF_OBJECT
    "\"\n"
    "mrc_lab_bpf_end:\n"
    ".previous\n");
// Hidden: they are of this program, so no table of addresses is needed (which one linker gets wrong).
extern "C" __attribute__((visibility("hidden"))) const char mrc_lab_bpf_begin[];
extern "C" __attribute__((visibility("hidden"))) const char mrc_lab_bpf_end[];
#endif

namespace mrc::lab {

bool Impairments::fail(const std::string& what, int why) {
  why_not_ = what + ": " + std::strerror(why);
#ifdef MRC_LAB_BPF_OBJECT
  if (object_ != nullptr) bpf_object__close(object_);
#endif
  object_ = nullptr;
  return false;
}

#ifdef MRC_LAB_BPF_OBJECT

namespace {
int silent(libbpf_print_level, const char*, va_list) {
  return 0;
}

int attach_to(const bpf_object* object, const char* program, uint32_t ifindex, bpf_tc_attach_point point) {
  bpf_tc_hook hook{};
  hook.sz = sizeof hook;
  hook.ifindex = static_cast<int>(ifindex);
  hook.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST) return -error;
  hook.attach_point = point;
  bpf_tc_opts options{};
  options.sz = sizeof options;
  options.prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, program));
  return -bpf_tc_attach(&hook, &options);
}
}  // namespace

Impairments::~Impairments() {
  if (object_ != nullptr) bpf_object__close(object_);
}

bool Impairments::open_and_load() {
  libbpf_set_print(silent);
  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = "mrc_lab";
  object_ = bpf_object__open_mem(mrc_lab_bpf_begin, static_cast<size_t>(mrc_lab_bpf_end - mrc_lab_bpf_begin),
                                 &options);
  if (object_ == nullptr) return fail("the BPF program cannot be read", errno);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) bpf_program__set_type(program, BPF_PROG_TYPE_SCHED_CLS);
  if (const int error = bpf_object__load(object_); error != 0)
    return fail(error == -EPERM ? "the kernel takes BPF programs only from root"
                                : "the kernel does not take the BPF program",
                -error);
  settings_ = bpf_object__find_map_fd_by_name(object_, "lab_settings");
  counts_ = bpf_object__find_map_fd_by_name(object_, "lab_counts");
  return true;
}

// Egress of every switch port; and ingress where a host is at the other end, because what a device sends
// through a packet socket does not pass the host's own egress.
bool Impairments::attach(Fabric* fabric) {
  const Topology& topology = fabric->topology();
  for (uint32_t number = 0; number < topology.nodes().size(); ++number) {
    const Node& node = topology.nodes()[number];
    const InNamespace inside(fabric->namespace_fd(number));
    for (const uint32_t port_number : node.ports) {
      const Port& port = topology.ports()[port_number];
      if (topology.links()[port.link].plane == 0) continue;
      int error = 0;
      if (node.kind == Kind::kHost) {
        error = attach_to(object_, "lab_host", port.ifindex, BPF_TC_INGRESS);
      } else {
        error = attach_to(object_, "lab_egress", port.ifindex, BPF_TC_EGRESS);
        const bool to_host = topology.nodes()[topology.ports()[port.peer].node].kind == Kind::kHost;
        if (error == 0 && to_host) error = attach_to(object_, "lab_ingress", port.ifindex, BPF_TC_INGRESS);
      }
      if (error != 0) return fail("the BPF program cannot be attached at " + node.name, error);
    }
  }
  return true;
}

bool Impairments::load(Fabric* fabric) {
  if (std::getenv("MRC_LAB_NO_BPF") != nullptr) return fail("MRC_LAB_NO_BPF is set", ENOTSUP);
  return open_and_load() && attach(fabric);
}

int Impairments::set(uint32_t ifindex, uint32_t direction, const lab_port_settings& settings) {
  const uint32_t key = ifindex * LAB_DIRECTIONS + direction;
  return bpf_map_update_elem(settings_, &key, &settings, BPF_ANY) == 0 ? 0 : errno;
}

lab_port_counts Impairments::counts(uint32_t ifindex, uint32_t direction) const {
  const uint32_t key = ifindex * LAB_DIRECTIONS + direction;
  lab_port_counts counts{};
  if (object_ != nullptr) bpf_map_lookup_elem(counts_, &key, &counts);
  return counts;
}

#else

Impairments::~Impairments() = default;
bool Impairments::load(Fabric*) {
  return fail("mrc_lab was built without clang or libbpf, so it has no BPF program", ENOTSUP);
}
int Impairments::set(uint32_t, uint32_t, const lab_port_settings&) {
  return ENOTSUP;
}
lab_port_counts Impairments::counts(uint32_t, uint32_t) const {
  return {};
}

#endif

}  // namespace mrc::lab

// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/device_ports.h"

#include <vector>

#include "dpdk_io/eal.h"
#include "dpdk_io/memif_driver.h"
#include "dpdk_io/memif_mesh.h"
#include "dpdk_io/process_slot.h"
#include "dpdk_io/run_directory.h"

namespace mrc {

class DevicePorts::Impl {
 public:
  bool open(const DeviceConfig& config, std::string* error) {
    if (!start_eal(error, kEalMegabytes + PacketPool::megabytes(config.mbufs))) return false;
    if (!open_run_directory(&run_directory_, error) || !repair_memif_driver(error)) return false;
    mesh_ = MemifMesh::open(run_directory_, config.planes, config.mbufs, error);
    if (mesh_ == nullptr) return false;
    for (uint32_t plane = 0; plane < config.planes; ++plane)
      ports_.push_back(&mesh_->port(static_cast<Plane>(plane)));
    return true;
  }

  std::string run_directory_;
  std::unique_ptr<MemifMesh> mesh_;
  std::vector<Port*> ports_;
};

std::unique_ptr<DevicePorts> DevicePorts::open(const DeviceConfig& config, std::string* error) {
  auto impl = std::make_unique<Impl>();
  if (!impl->open(config, error)) return nullptr;
  return std::unique_ptr<DevicePorts>(new DevicePorts(std::move(impl)));
}

DevicePorts::DevicePorts(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DevicePorts::~DevicePorts() = default;

std::span<Port* const> DevicePorts::ports() const {
  return impl_->ports_;
}
Qpn DevicePorts::first_qpn() const {
  return first_qpn_of(slot());
}
uint32_t DevicePorts::qpn_count() const {
  return kQpnsPerSlot;
}
uint32_t DevicePorts::slot() const {
  return impl_->mesh_->slot();
}
const std::string& DevicePorts::run_directory() const {
  return impl_->run_directory_;
}
void DevicePorts::service() {
  impl_->mesh_->service();
}
int DevicePorts::event_fd() const {
  return impl_->mesh_->event_fd();
}

}  // namespace mrc

// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/device_ports.h"

#include <utility>
#include <vector>

#include "dpdk_io/ethdev/eal.h"
#include "dpdk_io/ethdev/eal_needs.h"
#include "dpdk_io/host/process_slot.h"
#include "dpdk_io/host/run_directory.h"
#include "dpdk_io/link/host_mesh.h"
#include "dpdk_io/share/share_client.h"
#include "dpdk_io/wire_ports.h"

namespace mrc {

class DevicePorts::Impl {
 public:
  bool open(const DeviceConfig& config, std::string* error) {
    const NetworkConfig& network = config.network;
    if (!open_run_directory(&run_directory_, error)) return false;
    ClaimOnHost on_host = network.has_real_ports() ? claim_on_host : ClaimOnHost();
    if (network.shared_planes() != 0) {
      sharer_ = ShareClient::connect(share_socket_path(page_suffix(config)), error);
      if (sharer_ == nullptr) return false;
      // mrcd asks the other programs of the host for us.
      on_host = [this](uint32_t slot, int*, std::string* why) { return sharer_->claim(slot, why); };
    }
    mesh_ = HostMesh::open({run_directory_, config.planes, on_host, config.icrc_always, page_suffix(config)},
                           error);
    if (mesh_ == nullptr) return false;
    if (network.any_port(&PortConfig::is_own_ethdev) &&
        !start_eal(error, eal_needs_of(config, &PortConfig::is_own_ethdev)))
      return false;
    if (network.has_real_ports()) {
      wires_ = WirePorts::open(config, *mesh_, sharer_.get(), error);
      if (wires_ == nullptr) return false;
    }
    for (uint32_t i = 0; i < config.planes; ++i) {
      const auto plane = static_cast<Plane>(i);
      Port* wire = wires_ != nullptr ? wires_->port(plane) : nullptr;
      ports_.push_back(wire != nullptr ? wire : &mesh_->port(plane));
    }
    return true;
  }

  std::string run_directory_;
  std::unique_ptr<ShareClient> sharer_;
  std::unique_ptr<HostMesh> mesh_;
  std::unique_ptr<WirePorts> wires_;
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
PathSource* DevicePorts::paths() const {
  return impl_->wires_ != nullptr ? &impl_->wires_->paths() : nullptr;
}
Qpn DevicePorts::first_qpn() const {
  return first_qpn_of(slot());
}
uint32_t DevicePorts::qpn_count() const {
  return kQpnsPerSlot;
}
bool DevicePorts::speaks_for_host() const {
  return impl_->wires_ == nullptr || impl_->wires_->speaks_for_host();
}
int DevicePorts::join(const IpAddress& group) {
  if (impl_->wires_ != nullptr)
    if (const int error = impl_->wires_->join(group); error != 0) return error;
  const int error = impl_->mesh_->groups().join(group);
  if (error != 0 && impl_->wires_ != nullptr) impl_->wires_->leave(group);
  return error;
}
void DevicePorts::leave(const IpAddress& group) {
  impl_->mesh_->groups().leave(group);
  if (impl_->wires_ != nullptr) impl_->wires_->leave(group);
}
int DevicePorts::hear_raw_frames(bool wanted) {
  int error = 0;
  if (wanted)
    error = impl_->mesh_->groups().join(kRawFrameListeners);
  else
    impl_->mesh_->groups().leave(kRawFrameListeners);
  if (error == 0 && impl_->wires_ != nullptr) impl_->wires_->hear_all(wanted);
  return error;
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
void DevicePorts::say_good_bye() {
  impl_->mesh_->say_good_bye();
}

}  // namespace mrc

// SPDX-License-Identifier: BSD-2-Clause
#include "providers/mrc/presence/class_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "providers/mrc/presence/device_settings.h"
#include "providers/mrc/presence/limits.h"

#ifndef MRC_VERSION
#define MRC_VERSION "0"
#endif

namespace mrc::provider {
namespace {

const std::string kSys = "/sys";
const std::string kInfiniband = "class/infiniband";
const std::string kVerbs = "class/infiniband_verbs";

std::string guid_text(uint64_t guid) {
  char text[20];
  std::snprintf(text, sizeof text, "%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48),
                static_cast<unsigned>(guid >> 32 & 0xFFFF), static_cast<unsigned>(guid >> 16 & 0xFFFF),
                static_cast<unsigned>(guid & 0xFFFF));
  return text;
}

std::string gid_text(const IpAddress& gid) {
  std::string text;
  for (size_t i = 0; i < gid.bytes.size(); i += 2) {
    char part[8];
    std::snprintf(part, sizeof part, "%s%02x%02x", i == 0 ? "" : ":", gid.bytes[i], gid.bytes[i + 1]);
    text += part;
  }
  return text;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* open = opendir(directory.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

// Links to what stands in a directory of /sys, but for the names that the tree has itself.
void link_rest(const std::string& directory, const std::vector<std::string>& own,
               std::vector<TreeEntry>* tree) {
  const std::string prefix = directory.empty() ? "" : directory + "/";
  const std::string root = kSys + "/" + prefix;
  for (const std::string& name : names_in(root)) {
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    tree->push_back({prefix + name, root + name, true});
  }
}

bool make_parents(const std::string& directory, const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (mkdir((directory + "/" + path.substr(0, slash)).c_str(), 0755) != 0 && errno != EEXIST) return false;
  return true;
}

bool write_file(const std::string& path, const std::string& content) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  const std::string line = content + "\n";
  const bool written = write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  return close(fd) == 0 && written;
}

}  // namespace

std::string device_file_name(const std::string& device) {
  return "uverbs-" + device;  // never the name of a kernel's device: those are uverbsN
}

std::vector<TreeEntry> class_tree(const std::string& device, const GidTable& gids,
                                  const std::string& counters) {
  std::vector<TreeEntry> tree;
  const auto add = [&](const std::string& path, const std::string& content) {
    tree.push_back({path, content});
  };
  const std::string verbs = kVerbs + "/" + device_file_name(device);
  add(verbs + "/ibdev", device);
  add(verbs + "/dev", "1:3");
  add(verbs + "/abi_version", "1");
  const std::string node = kInfiniband + "/" + device;
  const std::string guid = guid_text(gids.node_guid());
  add(node + "/node_type", "1: CA");
  add(node + "/node_guid", guid);
  add(node + "/sys_image_guid", guid);
  add(node + "/node_desc", "Soft-MRC");
  add(node + "/fw_ver", MRC_VERSION);
  add(node + "/hw_rev", "1");
  add(node + "/hca_type", "MRC");
  add(node + "/board_id", "MRC");
  add(node + "/device/numa_node", "-1");
  const std::string port = node + "/ports/1";
  add(port + "/state", "4: ACTIVE");
  add(port + "/phys_state", "5: LinkUp");
  add(port + "/link_layer", "Ethernet");
  add(port + "/rate", "100 Gb/sec (4X EDR)");
  add(port + "/lid", "0x0");
  add(port + "/sm_lid", "0x0");
  add(port + "/sm_sl", "0");
  add(port + "/lid_mask_count", "0");
  add(port + "/cap_mask", "0x04000000");
  add(port + "/pkeys/0", "0xffff");
  if (!counters.empty())
    for (const char* folder : {"/counters", "/hw_counters"})
      tree.push_back({port + folder, counters + folder, true});
  // Every entry of the table needs all three files. Of a free one the kernel shows a GID of zeros, and the
  // other two cannot be read.
  const std::string gid = port + "/gids/";
  const std::string type = port + "/gid_attrs/types/";
  const std::string interface_of = port + "/gid_attrs/ndevs/";
  std::vector<std::string> interfaces;
  for (size_t i = 0; i < gids.entries.size(); ++i) {
    const std::string index = std::to_string(i);
    add(gid + index, gid_text(gids.entries[i].gid));
    add(type + index, "RoCE v2");
    add(interface_of + index, gids.entries[i].interface);
    if (std::find(interfaces.begin(), interfaces.end(), gids.entries[i].interface) == interfaces.end())
      interfaces.push_back(gids.entries[i].interface);
  }
  for (size_t i = gids.entries.size(); i < limits::kGids; ++i) add(gid + std::to_string(i), gid_text({}));
  const std::string link = node + "/device/net/";
  const std::string target = kSys + "/class/net/";
  for (const std::string& interface : interfaces)
    tree.push_back({link + interface, target + interface, true});
  return tree;
}

std::vector<TreeEntry> class_tree(const CountersOf& counters) {
  std::vector<TreeEntry> tree;
  tree.push_back({kVerbs + "/abi_version", "6"});
  for (const DeviceConfig& device : all_device_settings())
    for (TreeEntry& entry :
         class_tree(device.name, read_gid_table(device), counters ? counters(device.name) : ""))
      tree.push_back(std::move(entry));
  return tree;
}

std::vector<std::string> names_in_classes() {
  std::vector<std::string> names = {"abi_version"};
  for (const DeviceConfig& device : all_device_settings()) {
    names.push_back(device.name);
    names.push_back(device_file_name(device.name));
  }
  return names;
}

std::vector<TreeEntry> sysfs_view(const CountersOf& counters) {
  std::vector<TreeEntry> tree = class_tree(counters);
  link_rest("", {"class"}, &tree);
  link_rest("class", {"infiniband", "infiniband_verbs"}, &tree);
  link_rest(kInfiniband, names_in_classes(), &tree);
  link_rest(kVerbs, names_in_classes(), &tree);
  return tree;
}

bool write_tree(const std::string& directory, const std::vector<TreeEntry>& tree, std::string* error) {
  for (const TreeEntry& entry : tree) {
    const std::string path = directory + "/" + entry.path;
    const bool made =
        make_parents(directory, entry.path) &&
        (entry.is_link ? symlink(entry.content.c_str(), path.c_str()) == 0 : write_file(path, entry.content));
    if (made) continue;
    *error = "cannot write " + path + ": " + std::strerror(errno);
    return false;
  }
  return true;
}

std::string tree_name(const std::vector<TreeEntry>& tree) {
  uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  const auto mix = [&hash](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
    hash = (hash ^ 0xFF) * 0x100000001B3u;
  };
  for (const TreeEntry& entry : tree) {
    mix(entry.path);
    mix(entry.content);
  }
  char name[20];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
  return name;
}

}  // namespace mrc::provider

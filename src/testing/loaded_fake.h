// Loads the fake PJRT plugin, for the tests with label fault, whose build makes it.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "pjrt/plugin/plugin.h"
#include "runtime/runtime.h"
#include "targets/target.h"
#include "testing/checkout.h"
#include "testing/fake_plugin/fake_control.h"
#include "testing/temp_dir.h"

namespace axle::testing {

/// A separate copy of the fake plugin, because a plugin is loaded once per file.
class Fake {
 public:
  /// `more_bytes` at the end of the file make it another version of the plugin.
  explicit Fake(std::string_view more_bytes = "") {
    std::filesystem::copy_file(fake_plugin_file(), path_);
    std::ofstream(path_, std::ios::app) << more_bytes;
    void* library = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw InternalError(::dlerror());
    control_ = reinterpret_cast<FakeControl* (*)()>(::dlsym(library, "axle_fake_control"))();
  }
  FakeControl* operator->() { return control_; }
  const Plugin& load(std::string_view platform = "fake") { return load_plugin(platform, path_); }

 private:
  TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "fake.so";
  FakeControl* control_;
};

/// Returns a target of `num_slices` slices with `num_devices` fake chips each.
inline Target fake_target(int64_t num_devices, int64_t num_slices = 1) {
  return {.accelerator = {.name = "fake", .platform = "fake", .machine_prefix = "fake-chip"},
          .shape = {num_devices},
          .num_slices = num_slices};
}

/// Returns a fake program that copies a matrix whose rows are divided over the axis "data".
inline Program copying_program(const Type& matrix, const Mesh& mesh,
                               const std::string& text = "outputs=1") {
  const PartitionSpec by_rows{{{"data"}, {}}};
  return {.name = "copying",
          .text = text,
          .inputs = {{.name = "x", .type = matrix, .sharding = by_rows}},
          .outputs = {{.name = "y", .type = matrix, .sharding = by_rows}},
          .mesh = mesh};
}

}  // namespace axle::testing

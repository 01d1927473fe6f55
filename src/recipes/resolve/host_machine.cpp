#include "recipes/resolve/host_machine.h"

#include <fmt/format.h>

#include <fstream>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/text/text.h"
#include "targets/accelerators.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// Returns a name like "NVIDIA H100 80GB HBM3" for each GPU of the driver.
std::vector<std::string> gpu_models(const fs::path& proc) {
  std::vector<std::string> out;
  std::error_code missing;
  for (const auto& gpu : fs::directory_iterator(proc / "driver/nvidia/gpus", missing)) {
    std::ifstream information(gpu.path() / "information");
    for (std::string line; std::getline(information, line);) {
      if (line.starts_with("Model:")) out.emplace_back(trim(std::string_view(line).substr(6)));
    }
  }
  return out;
}

std::string gpu_machine(const fs::path& proc) {
  const std::vector<std::string> models = gpu_models(proc);
  if (models.empty()) return {};
  const std::string model = lower_case(models[0]);
  for (const Accelerator& row : accelerators()) {
    if (row.platform == "cuda" && model.find(row.name) != std::string::npos)
      return fmt::format("{}-{}", row.machine_prefix, models.size());
  }
  return {};
}

std::string tpu_machine() {
  const std::string type = environment_variable("TPU_ACCELERATOR_TYPE");
  return type.empty() ? type : "tpu-" + type;
}

// Returns the machine type of a cloud machine that has all of its devices, as in "trn2.48xlarge".
std::string cloud_machine(std::string_view backend, const fs::path& dmi) {
  std::ifstream file(dmi / "product_name");
  std::string product;
  std::getline(file, product);
  const std::string prefix = fmt::format("{}-{}", backend, trim(product));
  for (const Accelerator& row : accelerators()) {
    if (row.platform == backend && row.machine_prefix == prefix)
      return fmt::format("{}-{}", prefix, row.devices_per_host);
  }
  return {};
}

}  // namespace

std::string host_machine(std::string_view backend, const fs::path& proc, const fs::path& dmi) {
  if (backend == "cpu" || backend == "interpreter")
    return fmt::format("cpu-{}", std::thread::hardware_concurrency());
  const std::string known = backend == "cuda"  ? gpu_machine(proc)
                            : backend == "tpu" ? tpu_machine()
                                               : cloud_machine(backend, dmi);
  return known.empty() ? fmt::format("{}-unknown", backend) : known;
}

}  // namespace axle

#include "interop/peft_saved_modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/peft_config.h"
#include "io/file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModules = "modules_to_save";

fs::path checked_file(const fs::path& folder) {
  if (path_exists(folder / kPeftTensors)) return folder / kPeftTensors;
  throw DataError(
      fmt::format("{}: expected {}, got {}", folder.string(), kPeftTensors, weights_there(folder)));
}

}  // namespace

bool is_peft_adapter(std::string_view tensor) { return tensor.find(".lora_") != tensor.npos; }

PeftSavedModules::PeftSavedModules(const fs::path& folder, const std::vector<std::string>& ignored)
    : where_((folder / kPeftTensors).string()), file_(checked_file(folder)) {
  for (const std::string& name : file_.names()) {
    if (name.starts_with(kPeftPrefix) && !is_peft_adapter(name))
      names_.push_back(name.substr(kPeftPrefix.size()));
  }
  const PeftConfig config = read_peft_config(folder);
  ties_head_ = config.fields.flag("ensure_weight_tying", false);
  if (std::ranges::count(ignored, kModules) > 0) return;
  for (const std::string& module : config.fields.texts(kModules)) {
    // peft takes each module whose name ends so.
    const auto is_of_module = [&](const std::string& tensor) {
      return tensor.substr(0, tensor.rfind('.')).ends_with(module);
    };
    if (std::ranges::any_of(names_, is_of_module)) continue;
    config.fields.fail(kModules, fmt::format("modules whose tensors {} holds, and {} is not there",
                                             kPeftTensors, printable(module)));
  }
}

std::string PeftSavedModules::name_in_file(const std::string& name) const {
  return std::string(kPeftPrefix) + name;
}

}  // namespace axle

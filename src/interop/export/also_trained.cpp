#include "interop/export/also_trained.h"

#include <algorithm>

#include "config/document/serialize.h"
#include "interop/trained_part.h"
#include "io/file.h"
#include "layers/products/lora_product.h"
#include "learn/learner.h"
#include "nn/param_path.h"

namespace axle {
namespace {

Tree<ParamSpec> matching(Tree<ParamSpec> params, const std::vector<std::string>& patterns) {
  std::erase_if(params, [&](const auto& param) {
    return std::ranges::none_of(
        patterns, [&](const std::string& pattern) { return matches_path(pattern, param.first); });
  });
  return params;
}

}  // namespace

std::set<std::string> also_trained(const LoadedModel& run, const std::string& where) {
  constexpr int64_t kAnySteps = int64_t{1} << 30;  // schedules may end with the run
  if (!run.learner.is_object()) return {};
  const Tree<ParamSpec> params = run.model->param_specs();
  // An import of adapters only says what is to be trained (save_model.h).
  const bool is_run = run.learner.contains("optimizer");
  const auto trained = config_error_in(where, [&] {
    Child<Learner> config = Learner::Config{};
    from_json(config, run.learner, "learner");
    if (is_run)
      return config.build({.params = params, .run_steps = kAnySteps}, Scope{.path = "learner"})
          ->trained();
    return matching(params, config.get_if<Learner>()->trained);
  });
  const std::string root = "model/" + trained_part(run.config, run.model.get()).path;
  std::set<std::string> out;
  for (const auto& [path, spec] : trained)
    if (path.starts_with(root)) out.insert(path.substr(root.size()));
  for (const std::string& path : adapter_paths(*run.model)) {
    if (path.starts_with(root)) out.erase(path.substr(root.size()));
  }
  return out;
}

}  // namespace axle

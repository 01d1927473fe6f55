#include "interop/export/also_trained.h"

#include "config/document/serialize.h"
#include "interop/trained_part.h"
#include "io/file.h"
#include "layers/products/lora_product.h"
#include "learn/learner.h"

namespace axle {

std::set<std::string> also_trained(const LoadedModel& run, const std::string& where) {
  constexpr int64_t kAnySteps = int64_t{1} << 30;  // schedules may end with the run
  if (!run.learner.is_object()) return {};
  const Tree<ParamSpec> params = run.model->param_specs();
  const auto learner = config_error_in(where, [&] {
    Child<Learner> config;
    from_json(config, run.learner, "learner");
    return config.build({.params = params, .run_steps = kAnySteps}, Scope{.path = "learner"});
  });
  const std::string root = "model/" + trained_part(run.config, run.model.get()).path;
  std::set<std::string> out;
  for (const auto& [path, spec] : learner->trained())
    if (path.starts_with(root)) out.insert(path.substr(root.size()));
  for (const std::string& path : adapter_paths(*run.model)) {
    if (path.starts_with(root)) out.erase(path.substr(root.size()));
  }
  return out;
}

}  // namespace axle

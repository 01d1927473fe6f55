#include "interop/export/decoding_part.h"

#include <fmt/format.h>

#include "interop/trained_part.h"
#include "layers/models/multi_token_lm.h"

namespace axle {
namespace {

// Makes `config` the model, whose parameters and state lie in `part` of the whole one.
void replace(LoadedModel& loaded, Child<Model> config, const std::string& part) {
  Tree<HostTensor> tensors;
  for (const std::string& root :
       {std::string("model/"), std::string(kLayerStatePath) + "/model/"}) {
    for (auto& [path, value] : loaded.parameters) {
      if (path.starts_with(root + part))
        tensors.emplace(root + path.substr(root.size() + part.size()), std::move(value));
    }
  }
  loaded.parameters = std::move(tensors);
  loaded.config = std::move(config);
  loaded.model = loaded.config.build({}, Scope{.path = "model"});
}

}  // namespace

void take_trained_part(LoadedModel& loaded) {
  if (TrainedPart part = trained_part(loaded.config, loaded.model.get()); !part.path.empty())
    replace(loaded, std::move(part.config), part.path);
}

void take_decoding_part(LoadedModel& loaded, const std::string& where, const Report& report) {
  take_trained_part(loaded);
  if (const auto* const heads = loaded.config.get_if<MultiTokenLM>()) {
    report(fmt::format("{}: the heads of MultiTokenLM for further tokens are left out", where));
    std::erase_if(loaded.parameters, [](const auto& tensor) {
      return tensor.first.find("model/decoder/") == tensor.first.npos;
    });
    replace(loaded, CausalLM::Config{.decoder = heads->decoder}, "");
  }
}

}  // namespace axle

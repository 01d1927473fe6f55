#include "interop/trained_part.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "config/document/serialize.h"
#include "layers/models/beside_frozen.h"

namespace axle {

TrainedPart trained_part(Child<Model> config, const Model* built) {
  TrainedPart out{.config = std::move(config)};
  for (;;) {
    std::unique_ptr<Model> own;
    if (!built) own = out.config.build({}, Scope{.path = "model"});
    const auto* const both = dynamic_cast<const BesideFrozen*>(built ? built : own.get());
    built = nullptr;
    if (!both) return out;
    Child<Model> trained;
    from_json(trained, to_json(out.config).at(both->trained_part()));
    out.config = std::move(trained);
    out.path += both->trained_part() + "/";
  }
}

}  // namespace axle

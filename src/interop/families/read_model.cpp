#include "interop/families/read_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "interop/families/family.h"

namespace axle {
namespace {

// Tensors that a model may have beside its parameters: the frequencies of rotary positions, which
// are computed, and a head that is the embedding again.
std::vector<std::string> unused_tensors(const TensorSource& source, const Tree<ParamSpec>& specs) {
  std::vector<std::string> out;
  const std::string head = "lm_head.weight", embedding = "model.embed_tokens.weight";
  for (const std::string& name : source.names()) {
    const bool is_tied = name == head && !specs.contains("decoder/lm_head/weight") &&
                         source.type(name) == source.type(embedding) &&
                         source.get(name) == source.get(embedding);
    if (is_tied || name.ends_with("rotary_emb.inv_freq")) out.push_back(name);
  }
  return out;
}

// Sizes that do not go together are a mistake of the file, and not of the user.
std::unique_ptr<Model> built(const Child<Model>& model, const std::string& where) {
  try {
    return model.build({}, Scope{.path = "model"});
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

ImportedModel read_model(const ForeignConfig& config, const TensorSource& source, DType dtype,
                         const std::vector<std::string>& ignored, bool with_weights) {
  const Family& family = family_of(config);
  ImportedModel out{.model = family.model(config), .parameters = {}};
  config.check_all_read(ignored);
  // No model has parameters in f16, whose range is too small to train in.
  if (dtype != DType::kF32 && dtype != DType::kF16) out.model.options.dtype = dtype;
  const std::unique_ptr<Model> model = built(out.model, config.where());
  if (with_weights) {
    const Tree<ParamSpec> specs = subtree(model->param_specs(), "model");
    out.parameters =
        WeightMap(family.weights(config), specs).read(source, unused_tensors(source, specs));
  }
  out.vocab_size = model->vocab_size();
  out.max_seq_len = model->max_seq_len().value_or(1);
  return out;
}

}  // namespace axle

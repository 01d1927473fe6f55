#include "interop/families/read_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/walk.h"
#include "interop/families/family.h"
#include "interop/families/stored_tensors.h"
#include "interop/foreign/coded_parameters.h"
#include "layers/blocks/repeat.h"
#include "nn/remat_policies.h"

namespace axle {
namespace {

// A text of a model without a limit may have any length; what is made for one needs a number.
constexpr int64_t kLongestWithoutLimit = int64_t{1} << 20;

// The tensor of a parameter that is stored alone.
std::string tensor_of(const std::vector<WeightRow>& rows, std::string_view parameter) {
  const auto row = std::ranges::find(rows, parameter, &WeightRow::ours);
  return row == rows.end() ? "" : row->theirs;
}

constexpr std::string_view kEmbedding = "decoder/emb/weight";

// A model that was saved without its head has no common prefix: "wte.weight" in place of
// "transformer.wte.weight". Takes it from the rows then.
void drop_missing_prefix(const TensorSource& source, std::vector<WeightRow>& rows) {
  const std::string embedding = tensor_of(rows, kEmbedding);
  const std::string prefix = embedding.substr(0, embedding.find('.') + 1);
  const std::vector<std::string> names = source.names();
  const auto has = [&](const std::string& name) { return std::ranges::binary_search(names, name); };
  if (has(embedding) || !has(embedding.substr(prefix.size()))) return;
  for (WeightRow& row : rows) {
    if (row.theirs.starts_with(prefix)) row.theirs.erase(0, prefix.size());
  }
}

// Tensors that a model may have beside its parameters: what its layers compute, such as the
// frequencies of rotary positions, and a head that is the embedding again.
std::vector<std::string> computed_tensors(const Family& family, const TensorSource& source,
                                          const std::vector<WeightRow>& rows,
                                          const Tree<ParamSpec>& specs) {
  constexpr std::string_view kHead = "decoder/lm_head/weight";
  std::vector<std::string> out;
  const std::string head = tensor_of(rows, kHead), embedding = tensor_of(rows, kEmbedding);
  for (const std::string& name : source.names()) {
    const bool is_tied = name == head && !specs.contains(kHead) &&
                         source.type(name) == source.type(embedding) &&
                         source.get(name) == source.get(embedding);
    const bool is_computed = family.is_computed && family.is_computed(name);
    if (is_tied || is_computed || name.ends_with("rotary_emb.inv_freq")) out.push_back(name);
  }
  return out;
}

// Calls fn(product, weight) for each weight that `model` keeps as codes: its entry in `specs`.
template <class Fn>
void each_coded(const Layer& model, Tree<ParamSpec>& specs, Fn fn) {
  for (const QuantizedProduct* product : quantized_products(model)) {
    const auto weight = specs.find(product->weight_path().substr(std::string("model/").size()));
    // The caller sees that codes are missing.
    if (weight != specs.end()) fn(*product, weight);
  }
}

void add_schemes(const Layer& model, const TensorSource& source, Tree<ParamSpec> specs,
                 ImportedModel& out) {
  each_coded(model, specs, [&](const QuantizedProduct& product, auto weight) {
    const auto scheme =
        stored_scheme(product.form(), weight->first, weight->second, out.rows, source);
    if (scheme) out.schemes.emplace(product.weight_path(), *scheme);
  });
}

// Reads the weights that `model` keeps as codes into `out`. Takes them out of `specs` and adds
// their tensors to `read`.
void read_all_codes(const Layer& model, const TensorSource& source, Tree<ParamSpec>& specs,
                    std::vector<std::string>& read, ImportedModel& out) {
  each_coded(model, specs, [&](const QuantizedProduct& product, auto weight) {
    CodesRead codes = read_codes(product, weight->first, weight->second, out.rows, source);
    out.parameters.merge(codes.parameters);
    out.num_rounded += codes.is_rounded;
    std::ranges::move(codes.names, std::back_inserter(read));
    specs.erase(weight);
  });
}

// Training keeps the projections of each layer and computes the rest again, as recipes have it: a
// step takes a quarter less memory.
void keep_projections(Child<Model>& model) {
  const SaveNames kept = kept_projections();
  std::vector<std::string> all = kept.names;  // not every family has them
  all.insert(all.end(), kept.optional.begin(), kept.optional.end());
  all.insert(all.end(), {"gate", "input"});
  for_each_config<Repeat>(model, [&](const std::string&, Repeat::Config& layers) {
    layers.layer.options.remat = SaveNames{.optional = all};
  });
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
                         const ReadOptions& options) {
  const Family& family = family_of(config);
  config.bound_counts(std::ssize(source.names()));
  ImportedModel out{.model = family.model(config), .parameters = {}};
  config.check_all_read(options.ignored);
  keep_projections(out.model);
  dtype = options.dtypes.all.value_or(dtype);
  // No model has parameters in f16, whose range is too small to train in.
  if (dtype != DType::kF32 && dtype != DType::kF16) out.model.options.dtype = dtype;
  const std::unique_ptr<Model> model = built(out.model, config.where());
  out.rows = family.weights(config);
  drop_missing_prefix(source, out.rows);
  if (options.codes_of)
    add_schemes(*options.codes_of, source, stored_tensors(*model, out.rows), out);
  if (options.with_weights) {
    Tree<ParamSpec> specs = stored_tensors(*model, out.rows);
    for (auto& [path, spec] : specs) {
      const auto own = options.dtypes.by_path.find(path);
      if (own != options.dtypes.by_path.end()) spec.dtype = own->second;
    }
    std::vector<std::string> unused = computed_tensors(family, source, out.rows, specs);
    for (const std::string& name : source.names()) {
      if (!family.is_left_out || !family.is_left_out(config, name)) continue;
      unused.push_back(name);
      ++out.num_left_out;
    }
    if (options.codes_of) read_all_codes(*options.codes_of, source, specs, unused, out);
    out.parameters.merge(WeightMap(out.rows, specs).read(source, unused));
    out.layer_state = take_layer_state(*model, out.parameters);
  }
  out.vocab_size = model->vocab_size();
  out.max_seq_len = model->max_seq_len().value_or(kLongestWithoutLimit);
  return out;
}

}  // namespace axle

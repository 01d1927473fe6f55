#include "interop/families/read_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/walk.h"
#include "interop/families/family.h"
#include "interop/foreign/coded_parameters.h"
#include "layers/blocks/stack.h"
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

constexpr std::string_view kEmbedding = "decoder/emb/weight", kHead = "decoder/lm_head/weight";

// A model that was saved without its head has no common prefix: "wte.weight" in place of
// "transformer.wte.weight". Takes it from the rows then, and returns it.
std::string drop_missing_prefix(const TensorSource& source, std::vector<WeightRow>& rows) {
  const std::string embedding = tensor_of(rows, kEmbedding);
  const std::string prefix = embedding.substr(0, embedding.find('.') + 1);
  const std::vector<std::string> names = source.names();
  const auto has = [&](const std::string& name) { return std::ranges::binary_search(names, name); };
  if (has(embedding) || !has(embedding.substr(prefix.size()))) return "";
  for (WeightRow& row : rows) {
    if (row.theirs.starts_with(prefix)) row.theirs.erase(0, prefix.size());
  }
  return prefix;
}

// Tensors that a model may have beside its parameters: what its layers compute, such as the
// frequencies of rotary positions, and a head that is the embedding again.
std::vector<std::string> computed_tensors(const Family& family, const TensorSource& source,
                                          const std::vector<WeightRow>& rows,
                                          const Tree<ParamSpec>& specs) {
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
                 const std::vector<WeightRow>& rows, ImportedModel& out) {
  each_coded(model, specs, [&](const QuantizedProduct& product, auto weight) {
    const auto scheme = stored_scheme(product.form(), weight->first, weight->second, rows, source);
    if (scheme) out.schemes.emplace(product.weight_path(), *scheme);
  });
}

// Reads the weights that `model` keeps as codes into `out`. Takes them out of `specs` and adds
// their tensors to `read`.
void read_all_codes(const Layer& model, const TensorSource& source, Tree<ParamSpec>& specs,
                    const std::vector<WeightRow>& rows, std::vector<std::string>& read,
                    ImportedModel& out) {
  each_coded(model, specs, [&](const QuantizedProduct& product, auto weight) {
    CodesRead codes = read_codes(product, weight->first, weight->second, rows, source);
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

// The parameters that a replacing tensor holds, or a part of one.
std::vector<std::string> replaced_paths(const ReplacedTensors& source, const WeightMap& weights,
                                        const Tree<ParamSpec>& specs, bool (*counts)(DType)) {
  std::vector<std::string> out;
  for (const auto& [path, spec] : specs) {
    const auto is_replaced = [&](const std::string& name) {
      return source.replaces(name) && counts(source.type(name).dtype);
    };
    if (std::ranges::any_of(weights.names_of({path}), is_replaced)) out.push_back(path);
  }
  return out;
}

// Keeps numbers that a model in bf16 would round as f32.
void keep_wider(const ReplacedTensors& source, const std::vector<WeightRow>& rows,
                const Tree<ParamSpec>& specs, ImportedModel& out) {
  const auto is_wider = [](DType dtype) { return dtype != DType::kBF16; };
  for (const std::string& path : replaced_paths(source, WeightMap(rows, specs), specs, is_wider)) {
    out.model.options.dtypes.push_back({.pattern = "**." + dotted(path), .dtype = DType::kF32});
    out.compute_dtype = DType::kBF16;
  }
}

// `replaced` is `source`, if some of its tensors are replaced.
ImportedModel read_tensors(const ForeignConfig& config, const TensorSource& source, DType dtype,
                           const ReadOptions& options, const ReplacedTensors* replaced = nullptr) {
  const Family& family = family_of(config);
  config.bound_counts(std::ssize(source.names()));
  ImportedModel out{.model = family.model(config), .parameters = {}};
  config.check_all_read(options.ignored);
  keep_projections(out.model);
  dtype = options.dtypes.all.value_or(dtype);
  // No model has parameters in f16, whose range is too small to train in.
  if (dtype != DType::kF32 && dtype != DType::kF16) out.model.options.dtype = dtype;
  std::unique_ptr<Model> model = built(out.model, config.where());
  out.rows = family.weights(config);
  std::vector<WeightRow> rows = out.rows;
  drop_missing_prefix(source, rows);
  Tree<ParamSpec> specs = stored_tensors(*model, rows);
  if (replaced) {
    const auto all = [](DType) { return true; };
    out.replaced = replaced_paths(*replaced, WeightMap(rows, specs), specs, all);
    if (dtype == DType::kBF16 && !options.dtypes.all) {
      keep_wider(*replaced, rows, specs, out);
      model = built(out.model, config.where());
      specs = stored_tensors(*model, rows);
    }
  }
  if (options.codes_of) add_schemes(*options.codes_of, source, specs, rows, out);
  if (options.with_weights) {
    for (auto& [path, spec] : specs) {
      const auto own = options.dtypes.by_path.find(path);
      if (own != options.dtypes.by_path.end()) spec.dtype = own->second;
    }
    std::vector<std::string> unused = computed_tensors(family, source, rows, specs);
    for (const std::string& name : source.names()) {
      if (!family.is_left_out || !family.is_left_out(config, name)) continue;
      unused.push_back(name);
      ++out.num_left_out;
    }
    if (options.codes_of) read_all_codes(*options.codes_of, source, specs, rows, unused, out);
    out.parameters.merge(WeightMap(rows, specs).read(source, unused));
    out.layer_state = take_layer_state(*model, out.parameters);
  }
  out.vocab_size = model->vocab_size();
  out.max_seq_len = model->max_seq_len().value_or(kLongestWithoutLimit);
  return out;
}

// Says whether a head that the model ties to its embedding is tied still. Puts what both are made
// of into `source`: peft trains one of them alone, or both apart, unless it is set to tie them.
bool is_still_tied(const std::string& embedding, const std::string& head, bool ties,
                   ReplacedTensors& source) {
  const bool has_head = source.replaces(head), has_embedding = source.replaces(embedding);
  if (!has_head && !has_embedding) return true;
  const bool is_tied =
      ties || (has_head && has_embedding && source.get(head) == source.get(embedding));
  if (is_tied && !has_embedding) source.copy(embedding, head);
  if (is_tied) source.hide(head);
  if (!is_tied && !has_head) source.copy_of_base(head, embedding);
  return is_tied;
}

}  // namespace

ImportedModel read_model(const ForeignConfig& config, const TensorSource& source, DType dtype,
                         const ReadOptions& options) {
  if (!options.replaced.tensors) return read_tensors(config, source, dtype, options);
  const Family& family = family_of(config);
  config.bound_counts(std::ssize(source.names()));
  const auto model = built(family.model(config), config.where());
  std::vector<WeightRow> rows = family.weights(config);
  const std::string prefix = drop_missing_prefix(source, rows);
  ReplacedTensors all(source, *options.replaced.tensors, prefix);
  const bool is_tied = !model->param_specs().contains("model/" + std::string(kHead));
  if (is_tied && !is_still_tied(tensor_of(rows, kEmbedding), tensor_of(rows, kHead),
                                options.replaced.ties_head, all))
    return read_tensors(config.with("tie_word_embeddings", false), all, dtype, options, &all);
  return read_tensors(config, all, dtype, options, &all);
}

}  // namespace axle

#include "interop/hugging_face.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "base/error.h"
#include "base/text/json.h"
#include "config/replace.h"
#include "config/walk.h"
#include "data/tokenizers/open_tokenizer.h"
#include "interop/families/read_model.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/gguf/gguf_architecture.h"
#include "interop/gguf/gguf_tensors.h"
#include "io/file.h"
#include "layers/products/product.h"
#include "layers/products/quantized_product.h"
#include "modifiers/products/product_modifiers.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

// Later versions of transformers write such an object in place of Python's word.
std::string as_object(std::string_view word) {
  return fmt::format(R"({{"__float__": "{}"}})", word);
}

ForeignConfig config_of(const fs::path& folder) {
  const fs::path file = folder / kHuggingFaceConfig;
  if (!path_exists(file)) {
    throw DataError(fmt::format("{}: expected {}, got {}", folder.string(), kHuggingFaceConfig,
                                nothing_at(file)));
  }
  return json_as<DataError>(file.string(), [&] {
    constexpr size_t kMaxBytes = size_t{16} << 20;
    return ForeignConfig(read_json(replace_python_numbers(read_file(file), as_object), kMaxBytes),
                         file.string());
  });
}

// The dtype in which the model is to be used. Weights in f8 are none that it could be trained in.
DType named_dtype(const ForeignConfig& config) {
  const std::string name = config.text("dtype", config.text("torch_dtype", ""));
  return name == "bfloat16" ? DType::kBF16 : DType::kF32;
}

// The dtype of all floats; f32 if there are several.
DType dtype_of(const TensorSource& source) {
  std::set<DType> dtypes;
  for (const std::string& name : source.names()) {
    const DType dtype = source.type(name).dtype;
    if (is_float(dtype)) dtypes.insert(dtype);
  }
  return dtypes.size() == 1 ? *dtypes.begin() : DType::kF32;
}

ImportedModel read_folder(const fs::path& folder, const ReadOptions& options) {
  const ForeignConfig config = config_of(folder);
  const SafetensorsFolder stored(folder);
  std::optional<Fp8Blocks> blocks;
  if (const auto form = fp8_form_of(config)) blocks.emplace(stored, *form);
  ImportedModel out = blocks ? read_model(config, *blocks, named_dtype(config), options)
                             : read_model(config, stored, dtype_of(stored), options);
  out.tokenizer = find_tokenizer(folder);
  out.special = {.where = config.where(),
                 .bos = config.token_ids("bos_token_id"),
                 .eos = config.token_ids("eos_token_id"),
                 .pad = config.token_ids("pad_token_id")};
  return out;
}

}  // namespace

ImportedModel read_hugging_face(const fs::path& folder, const ReadOptions& options) {
  return storage_error_as<DataError>([&] { return read_folder(folder, options); });
}

namespace {

// Returns the spec of the weight, with the dims in front that its codes have: layers of a loop,
// experts.
ParamSpec weight_spec(const CodeForm& form, const ParamSpec& codes) {
  ParamSpec out;
  const size_t in_front = codes.shape.size() - (form.weight_dims.size() + 1 - form.num_inputs);
  out.shape.assign(codes.shape.begin(),
                   codes.shape.begin() + static_cast<std::ptrdiff_t>(in_front));
  out.shape.insert(out.shape.end(), form.weight_dims.begin(), form.weight_dims.end());
  out.mesh_axes.resize(out.shape.size());
  return out;
}

}  // namespace

Tree<ParamSpec> with_plain_weights(const Layer& model, Tree<ParamSpec> specs,
                                   const StoredDType& stored) {
  for (const QuantizedProduct* product : quantized_products(model)) {
    const std::vector<std::string> own = product->own_paths();
    const auto codes = specs.find(own[0]);
    if (codes == specs.end() || stored(own[0])) continue;
    ParamSpec weight = weight_spec(product->form(), codes->second);
    weight.dtype = stored(product->weight_path()).value_or(DType::kF32);
    for (const std::string& path : own) specs.erase(path);
    specs.insert_or_assign(product->weight_path(), std::move(weight));
  }
  return specs;
}

int64_t encode_weights(const Layer& model, Tree<HostTensor>& parameters) {
  int64_t out = 0;
  for (const QuantizedProduct* product : quantized_products(model)) {
    if (!parameters.contains(product->weight_path())) continue;
    product->encode_in(parameters);
    ++out;
  }
  return out;
}

int64_t decode_weights(LoadedModel& model) {
  const std::vector<const QuantizedProduct*> products = quantized_products(*model.model);
  if (products.empty()) return 0;
  for (const QuantizedProduct* product : products) product->decode_in(model.parameters);
  const auto count = std::ssize(products);
  for (const ProductSlot& slot : product_slots(ConfigRef(model.config))) {
    if (held_config(slot.slot)->get_if<QuantizedProduct::Config>())
      put_config(slot.slot, AnyConfig::of(PlainProduct::Config{}));
  }
  model.model =
      model.config.build({}, Scope{.path = std::string(stored_prefix(Weights::kTrained))});
  return count;
}

namespace {

// Throws for a file that holds a part of a model, or something else.
void check_whole_model(const GgufMetadata& metadata) {
  if (const auto type = metadata.find("general.type"); type && type->text() != "model")
    type->fail("model");
  const auto parts = metadata.find("split.count");
  if (parts && parts->integer(0, 1 << 16) > 1)
    parts->fail("a whole model; join its parts first (llama-gguf-split --merge)");
}

DType dtype_of(const GgufFile& file) {
  std::set<std::optional<DType>> dtypes;
  for (const std::string& name : file.names()) dtypes.insert(file.tensor(name).type->dtype);
  const bool is_bf16 =
      dtypes.contains(DType::kBF16) && dtypes.size() == 1 + dtypes.count(DType::kF32);
  return is_bf16 ? DType::kBF16 : DType::kF32;
}

NamedSpecialIds special_ids(const GgufMetadata& metadata, const std::string& where) {
  NamedSpecialIds out{.where = where};
  const auto add = [&](const char* key, std::vector<int64_t>& ids) {
    const auto id = metadata.find(fmt::format("tokenizer.ggml.{}_token_id", key));
    if (id) ids.push_back(id->integer(0, INT32_MAX));
  };
  add("bos", out.bos);
  for (const char* end : {"eos", "eot", "eom"}) add(end, out.eos);
  add("padding", out.pad);
  return out;
}

bool has_tokenizer(const GgufMetadata& metadata) {
  const auto model = metadata.find("tokenizer.ggml.model");
  return model && model->text() != "no_vocab";
}

GgufKeys keys_in(const GgufFile& file, const std::string& where) {
  return {file.header(), where, [&](const std::string& tensor) { return file.get(tensor); }};
}

ImportedModel read_gguf_file(const std::filesystem::path& path, const ReadOptions& options) {
  const GgufFile file(path);
  const GgufKeys keys = keys_in(file, path.string());
  check_whole_model(file.metadata());
  const GgufArchitecture& architecture = architecture_of(keys);
  nlohmann::ordered_json fields = architecture.fields(keys);
  const GgufTensors::Sizes sizes{.head_dim = fields.value("head_dim", int64_t{0}),
                                 .num_experts = fields.value("num_local_experts", int64_t{0})};
  keys.add_unread(fields);
  const ForeignConfig config(std::move(fields), path.string());
  const GgufTensors source(file, architecture.names(), sizes, rope_tensors());
  ImportedModel out = read_model(config, source, dtype_of(file), options);
  out.special = special_ids(file.metadata(), path.string());
  if (has_tokenizer(file.metadata())) out.tokenizer = path;
  if (const auto tokens = file.metadata().find("tokenizer.ggml.tokens"))
    out.num_tokens = std::ssize(tokens->texts());
  return out;
}

}  // namespace

ImportedModel read_gguf(const std::filesystem::path& path, const ReadOptions& options) {
  return storage_error_as<DataError>([&] { return read_gguf_file(path, options); });
}

std::string gguf_family(const std::filesystem::path& path) {
  return storage_error_as<DataError>([&] {
    const GgufFile file(path);
    const GgufKeys keys = keys_in(file, path.string());
    return architecture_of(keys).fields(keys).at("model_type").get<std::string>();
  });
}

}  // namespace axle

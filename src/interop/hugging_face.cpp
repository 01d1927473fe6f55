#include "interop/hugging_face.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/text/json.h"
#include "interop/families/family.h"
#include "interop/foreign/safetensors_folder.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

ForeignConfig config_of(const fs::path& folder) {
  const fs::path file = folder / kHuggingFaceConfig;
  if (!path_exists(file)) {
    throw DataError(fmt::format("{}: expected {}, got {}", folder.string(), kHuggingFaceConfig,
                                nothing_at(file)));
  }
  return json_as<DataError>(file.string(), [&] {
    constexpr size_t kMaxBytes = size_t{16} << 20;
    return ForeignConfig(read_json(read_file(file), kMaxBytes), file.string());
  });
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

ImportedModel read_folder(const fs::path& folder, const std::vector<std::string>& ignored,
                          bool with_weights) {
  const ForeignConfig config = config_of(folder);
  const Family& family = family_of(config);
  ImportedModel out{.model = family.model(config), .parameters = {}};
  config.check_all_read(ignored);
  const SafetensorsFolder source(folder);
  if (const DType dtype = dtype_of(source); dtype != DType::kF32) out.model.options.dtype = dtype;
  const std::unique_ptr<Model> model = out.model.build({}, Scope{.path = "model"});
  const Tree<ParamSpec> specs = subtree(model->param_specs(), "model");
  if (with_weights) {
    out.parameters =
        WeightMap(family.weights(config), specs).read(source, unused_tensors(source, specs));
  }
  out.vocab_size = model->vocab_size();
  out.max_seq_len = model->max_seq_len().value_or(1);
  if (path_exists(folder / "tokenizer.model")) out.tokenizer = folder / "tokenizer.model";
  return out;
}

}  // namespace

ImportedModel read_hugging_face(const fs::path& folder, const std::vector<std::string>& ignored,
                                bool with_weights) {
  return storage_error_as<DataError>([&] { return read_folder(folder, ignored, with_weights); });
}

}  // namespace axle

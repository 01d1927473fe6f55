#include "interop/hugging_face.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "base/error.h"
#include "base/text/json.h"
#include "data/tokenizers/open_tokenizer.h"
#include "interop/families/read_model.h"
#include "interop/foreign/fp8_blocks.h"
#include "interop/foreign/safetensors_folder.h"
#include "io/file.h"
#include "io/user_path.h"

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

}  // namespace axle

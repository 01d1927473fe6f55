#include "interop/gguf_model.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "interop/families/read_model.h"
#include "interop/gguf/gguf_architecture.h"
#include "interop/gguf/gguf_rope.h"
#include "interop/gguf/gguf_tensors.h"
#include "io/file.h"

namespace axle {
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

bool has_tokenizer(const GgufMetadata& metadata) {
  const auto model = metadata.find("tokenizer.ggml.model");
  return model && model->text() != "no_vocab";
}

ImportedModel read(const std::filesystem::path& path, const ReadOptions& options) {
  const GgufFile file(path);
  const GgufKeys keys(file.header(), path.string(),
                      [&](const std::string& tensor) { return file.get(tensor); });
  check_whole_model(file.metadata());
  const GgufArchitecture& architecture = architecture_of(keys);
  nlohmann::ordered_json fields = architecture.fields(keys);
  const int64_t head_dim = fields.value("head_dim", int64_t{0});
  keys.add_unread(fields);
  const ForeignConfig config(std::move(fields), path.string());
  const GgufTensors source(file, architecture.names(), head_dim, rope_tensors());
  ImportedModel out = read_model(config, source, dtype_of(file), options);
  if (has_tokenizer(file.metadata())) out.tokenizer = path;
  return out;
}

}  // namespace

ImportedModel read_gguf(const std::filesystem::path& path, const ReadOptions& options) {
  return storage_error_as<DataError>([&] { return read(path, options); });
}

}  // namespace axle

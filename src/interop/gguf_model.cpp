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

#include "interop/export/gguf_export.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "interop/export/gguf_tokenizer_keys.h"
#include "interop/gguf/gguf_tensors.h"
#include "io/file.h"

namespace axle {
namespace {

// The tensors of a model, made when they are asked for.
class ExportedTensors final : public TensorSource {
 public:
  ExportedTensors(const ModelToExport& model, std::string where)
      : model_(model), types_(model.weights.types(model.dtype)), where_(std::move(where)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, type] : types_) out.push_back(name);
    return out;
  }
  Type type(const std::string& name) const override { return types_.at(name); }
  HostTensor get(const std::string& name) const override {
    return model_.weights.tensor(name, model_.parameters, model_.dtype);
  }
  const std::string& where() const override { return where_; }

 private:
  const ModelToExport& model_;
  Tree<Type> types_;
  std::string where_;
};

std::string type_for(DType dtype) {
  if (dtype == DType::kBF16) return "BF16";
  return dtype == DType::kF16 ? "F16" : "F32";
}

}  // namespace

ExportReport export_gguf(const GgufExport& request, const Report& report) {
  if (path_exists(request.file)) {
    throw ConfigError(fmt::format("{}: expected a new file, got one that exists; name another",
                                  request.file.string()));
  }
  ExportOptions options = request.options;
  if (!request.type.empty()) options.dtype = DType::kF32;  // the file's type rounds
  const ModelToExport model = model_to_export(options, Adapted::kMerged, report);
  GgufToWrite out{.fields = model.described.fields,
                  .type = request.type.empty() ? type_for(model.dtype) : request.type};
  if (model.tokenizer) {
    out.further = gguf_tokenizer_keys(model.tokenizer_config, *model.tokenizer,
                                      model.described.fields.at("vocab_size").get<int64_t>(),
                                      model.chat_template);
  }
  const bool has_tokenizer = out.further.contains("tokenizer.ggml.model");
  if (!has_tokenizer) out.further.set("tokenizer.ggml.model", "no_vocab");
  write_gguf(request.file, out, ExportedTensors(model, request.options.run.string()));
  ExportReport done{.dir = request.file,
                    .family = std::string(model.described.family->model_type),
                    .num_files = 1,
                    .num_adapters = model.num_adapters,
                    .dtype = lower_case(out.type),
                    .has_tokenizer = has_tokenizer};
  for (const auto& [path, value] : model.parameters) done.num_parameters += value.size();
  return done;
}

}  // namespace axle

#include "interop/gguf/gguf_key_writer.h"

#include <algorithm>

namespace axle {

GgufKeyWriter::GgufKeyWriter(std::string architecture) : architecture_(std::move(architecture)) {
  metadata_.set("general.architecture", architecture_);
  metadata_.set("general.type", "model");
}

std::string GgufKeyWriter::key(std::string_view name) const {
  return architecture_ + "." + std::string(name);
}

void GgufKeyWriter::size(std::string_view name, int64_t value) {
  metadata_.set(key(name), static_cast<uint32_t>(value));
}

void GgufKeyWriter::number(std::string_view name, double value) {
  metadata_.set(key(name), static_cast<float>(value));
}

void GgufKeyWriter::text(std::string_view name, const std::string& value) {
  metadata_.set(key(name), value);
}

void GgufKeyWriter::flags(std::string_view name, const std::vector<bool>& values) {
  std::string bytes;
  for (const bool value : values) bytes += value ? '\1' : '\0';
  metadata_.set(key(name), GgufValue(GgufType::kBool, std::move(bytes)));
}

void GgufKeyWriter::tensor(const std::string& name, const std::vector<double>& values) {
  HostTensor out(Type{DType::kF32, {static_cast<int64_t>(values.size())}});
  std::ranges::transform(values, out.values<float>().begin(),
                         [](double value) { return static_cast<float>(value); });
  tensors_.insert_or_assign(name, std::move(out));
}

}  // namespace axle

#include "interop/foreign/fp8_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"

namespace axle {
namespace {

constexpr std::string_view kScaleSuffix = "_scale_inv";

int64_t num_blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::binary_search(names, name);
}

}  // namespace

std::optional<Fp8Form> fp8_form_of(const ForeignConfig& config) {
  const auto quantized = config.group("quantization_config");
  if (!quantized) return {};
  if (quantized->text("quant_method", "") != "fp8") {
    quantized->fail("quant_method",
                    "\"fp8\"; weights of other methods are read from the model that they were "
                    "made from, or from a GGUF file");
  }
  quantized->expect("fmt", "e4m3");
  // How products are computed, which matrices stay plain, and of which kind the scales are.
  quantized->ignore(
      {"activation_scheme", "modules_to_not_convert", "ignored_layers", "scale_fmt", "dequantize"});
  const std::vector<double> block = quantized->numbers("weight_block_size");
  const auto is_size = [](double size) {
    return size >= 1 && size <= 1 << 20 && size == static_cast<int64_t>(size);
  };
  if (block.size() != 2 || !std::ranges::all_of(block, is_size))
    quantized->fail("weight_block_size", "rows and columns of a block");
  return Fp8Form{static_cast<int64_t>(block[0]), static_cast<int64_t>(block[1])};
}

bool Fp8Blocks::is_coded(const std::string& name) const {
  return source_.type(name).dtype == DType::kF8E4M3FN;
}

std::vector<std::string> Fp8Blocks::names() const {
  const std::vector<std::string> all = source_.names();
  std::vector<std::string> out;
  for (const std::string& name : all) {
    const std::string matrix =
        name.ends_with(kScaleSuffix) ? name.substr(0, name.size() - kScaleSuffix.size()) : "";
    if (!has(all, matrix) || !is_coded(matrix)) out.push_back(name);
  }
  return out;
}

Type Fp8Blocks::type(const std::string& name) const {
  Type out = source_.type(name);
  if (is_coded(name)) out.dtype = DType::kF32;
  return out;
}

HostTensor Fp8Blocks::get(const std::string& name) const {
  if (!is_coded(name)) return source_.get(name);
  const std::string in_file = name_in_file(name);
  const Shape& shape = source_.type(name).dims;
  if (shape.size() != 2) {
    throw DataError(fmt::format("{}: {}: expected a matrix in f8, got shape {}", where(), in_file,
                                to_text(shape)));
  }
  const int64_t blocks = num_blocks(shape[1], form_.columns);
  const Shape expected = {num_blocks(shape[0], form_.rows), blocks};
  const HostTensor stored = source_.get(name + std::string(kScaleSuffix));
  if (stored.shape() != expected || !is_float(stored.dtype())) {
    throw DataError(fmt::format("{}: {}{}: expected floats of shape {}, got {}", where(), in_file,
                                kScaleSuffix, to_text(expected), to_text(stored.type())));
  }
  const HostTensor scales = stored.astype(DType::kF32);
  HostTensor out = source_.get(name).astype(DType::kF32);
  const auto values = out.values<float>();
  const auto of_blocks = scales.values<float>();
  parallel_for(shape[0], 1 + (1 << 16) / (shape[1] + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row = values.subspan(i * shape[1], shape[1]);
      const auto own = of_blocks.subspan(i / form_.rows * blocks, blocks);
      for (int64_t j = 0; j < shape[1]; ++j) row[j] *= own[j / form_.columns];
    }
  });
  return out;
}

}  // namespace axle

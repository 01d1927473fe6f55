#include "interop/llama2c.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/text/file_format.h"
#include "io/file.h"
#include "io/file_reader.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"

namespace axle {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file's numbers are copied as they are");

constexpr float kNormEps = 1e-5f;
constexpr double kTheta = 1e4;

struct Header {
  int64_t dim, hidden_dim, num_layers, num_heads, num_kv_heads, vocab_size, max_seq_len;
  bool shares_embedding;
  int64_t head_dim() const { return dim / num_heads; }
};

constexpr size_t kHeaderBytes = 7 * sizeof(int32_t);

[[noreturn]] void fail(const std::string& path, size_t offset, std::string_view what) {
  throw DataError(fmt::format("{}: offset {}: {}", path, offset, what));
}

// Reads the file from beginning to end.
class Cursor {
 public:
  explicit Cursor(const FileReader& file) : file_(file), path_(file.path().string()) {}

  Header header() {
    if (file_.size() < static_cast<int64_t>(kHeaderBytes)) {
      fail(path_, static_cast<size_t>(file_.size()),
           fmt::format("expected a llama2.c header of {} bytes, got {}", kHeaderBytes,
                       file_.size()));
    }
    Header h{};
    h.dim = number("model dim", 1 << 20);
    h.hidden_dim = number("hidden dim", 1 << 22);
    h.num_layers = number("number of layers", 1 << 12);
    h.num_heads = number("number of heads", h.dim);
    if (h.dim % h.num_heads != 0 || h.head_dim() % 2 != 0) {
      fail(path_, offset_ - 4,
           fmt::format("expected heads of an even size, got model dim {} and {} heads", h.dim,
                       h.num_heads));
    }
    h.num_kv_heads = number("number of key/value heads", h.num_heads);
    if (h.num_heads % h.num_kv_heads != 0) {
      fail(path_, offset_ - 4,
           fmt::format("expected a number of key/value heads that divides the {} heads, got {}",
                       h.num_heads, h.num_kv_heads));
    }
    const int32_t vocab_size = take_number();
    h.shares_embedding = vocab_size > 0;
    h.vocab_size = std::abs(static_cast<int64_t>(vocab_size));
    check_range("vocabulary", h.vocab_size, 1 << 24);
    h.max_seq_len = number("longest text", 1 << 24);
    return h;
  }

  /// Reads the next `count` floats, which belong to `parameter`.
  std::vector<float> floats(int64_t count, std::string_view parameter) {
    std::vector<float> out(static_cast<size_t>(count));
    file_.read_at(static_cast<int64_t>(offset_), std::as_writable_bytes(std::span(out)));
    const auto bad = std::ranges::find_if_not(out, [](float v) { return std::isfinite(v); });
    if (bad != out.end()) {
      fail(path_, offset_ + static_cast<size_t>(bad - out.begin()) * sizeof(float),
           fmt::format("expected finite weights, got {} in {}", *bad, parameter));
    }
    offset_ += out.size() * sizeof(float);
    return out;
  }
  void skip(int64_t num_floats) { offset_ += static_cast<size_t>(num_floats) * sizeof(float); }

 private:
  int32_t take_number() {
    int32_t v;
    file_.read_at(static_cast<int64_t>(offset_), std::as_writable_bytes(std::span(&v, 1)));
    offset_ += sizeof(v);
    return v;
  }
  void check_range(std::string_view what, int64_t v, int64_t most) const {
    if (v < 1 || v > most) {
      fail(path_, offset_ - 4,
           fmt::format("expected a {} of 1 to {} in the header, got {}; is this a llama2.c file of "
                       "version 0?",
                       what, most, v));
    }
  }
  int64_t number(std::string_view what, int64_t most) {
    const int64_t v = take_number();
    check_range(what, v, most);
    return v;
  }

  const FileReader& file_;
  std::string path_;
  size_t offset_ = 0;
};

CausalLM::Config config_of_llama(const Header& h) {
  const Linear::Config linear{.bias = false};
  const RMSNorm::Config norm{.eps = kNormEps};
  Attention::Config attention{.num_heads = h.num_heads,
                              .num_kv_heads = h.num_kv_heads,
                              .qkv = RoPE::Config{.theta = kTheta, .inner = SeparateQKV::Config{}}};
  FeedForward::Config feed_forward{
      .hidden_dim = FixedDim{h.hidden_dim}, .gate = linear, .up = linear, .down = linear};
  TransformerLayer::Config layer{
      .attention = PreNorm::Config{.norm = norm, .body = std::move(attention)},
      .feed_forward = PreNorm::Config{.norm = norm, .body = std::move(feed_forward)}};
  Decoder::Config decoder{
      .model_dim = h.dim,
      .vocab_size = h.vocab_size,
      .max_seq_len = h.max_seq_len,
      .layers = Stacked::Config{.num_layers = h.num_layers, .layer = std::move(layer)},
      .output_norm = norm};
  if (!h.shares_embedding) decoder.lm_head = LmHead::Config{};
  return {.decoder = std::move(decoder)};
}

// Transposes [outputs, inputs] to [inputs, outputs], and sets the shape of the result to `shape`.
HostTensor transposed(std::span<const float> floats, int64_t inputs, Shape shape) {
  HostTensor out(Type{DType::kF32, std::move(shape)});
  const auto to = out.values<float>();
  const size_t rows = static_cast<size_t>(inputs), columns = to.size() / rows;
  for (size_t o = 0; o < columns; ++o) {
    for (size_t i = 0; i < rows; ++i) to[i * columns + o] = floats[o * rows + i];
  }
  return out;
}

// Returns the number of floats in the file. The limits of the header keep it below 2^63.
uint64_t num_weights(const Header& h) {
  const auto n = [](int64_t v) { return static_cast<uint64_t>(v); };
  const uint64_t kv_dim = n(h.num_kv_heads * h.head_dim());
  const uint64_t layer = n(h.dim) * (2 + 2 * n(h.dim) + 2 * kv_dim + 3 * n(h.hidden_dim));
  const uint64_t positions = n(h.max_seq_len) * n(h.head_dim());
  return n(h.vocab_size) * n(h.dim) * (h.shares_embedding ? 1 : 2) + n(h.num_layers) * layer +
         n(h.dim) + positions;
}

Tree<HostTensor> read_weights(Cursor& cursor, const Header& h) {
  Tree<HostTensor> out;
  const int64_t head_dim = h.head_dim();
  const auto read = [&](const std::string& path, Shape shape) {
    const std::vector<float> floats = cursor.floats(num_elements(shape), path);
    out.emplace(path, HostTensor(std::move(shape), std::span(floats)));
  };
  const auto of_layer = [](int64_t i, std::string_view name) {
    return fmt::format("decoder/layers/layer{}/{}", i, name);
  };
  const auto layers = [&](std::string_view name, const Shape& shape) {
    for (int64_t i = 0; i < h.num_layers; ++i) read(of_layer(i, name), shape);
  };
  const auto matrices = [&](std::string_view name, int64_t inputs, const Shape& shape) {
    for (int64_t i = 0; i < h.num_layers; ++i) {
      const std::string path = of_layer(i, name);
      out.emplace(path, transposed(cursor.floats(num_elements(shape), path), inputs, shape));
    }
  };
  read("decoder/emb/weight", {h.vocab_size, h.dim});
  layers("attention/norm/scale", {h.dim});
  matrices("attention/body/qkv/inner/q_proj/weight", h.dim, {h.dim, h.num_heads, head_dim});
  matrices("attention/body/qkv/inner/k_proj/weight", h.dim, {h.dim, h.num_kv_heads, head_dim});
  matrices("attention/body/qkv/inner/v_proj/weight", h.dim, {h.dim, h.num_kv_heads, head_dim});
  layers("attention/body/output/weight", {h.dim, h.num_heads, head_dim});
  layers("feed_forward/norm/scale", {h.dim});
  matrices("feed_forward/body/gate/weight", h.dim, {h.dim, h.hidden_dim});
  matrices("feed_forward/body/down/weight", h.hidden_dim, {h.hidden_dim, h.dim});
  matrices("feed_forward/body/up/weight", h.dim, {h.dim, h.hidden_dim});
  read("decoder/output_norm/scale", {h.dim});
  cursor.skip(h.max_seq_len * head_dim);  // cosines and sines; RoPE computes them
  if (!h.shares_embedding) read("decoder/lm_head/weight", {h.vocab_size, h.dim});
  return out;
}

FileReader open_data(const std::filesystem::path& path) {
  if (!path_exists(path)) {
    throw DataError(fmt::format("{}: expected a llama2.c weight file, got {}", path.string(),
                                nothing_at(path)));
  }
  FileReader file(path);
  check_format<DataError>(path.string(), "a llama2.c weight file", "", head_of(file));
  return file;
}

ImportedModel read_model(const std::filesystem::path& path) {
  const FileReader file = open_data(path);
  Cursor cursor(file);
  const Header h = cursor.header();
  const uint64_t expected = kHeaderBytes + num_weights(h) * sizeof(float),
                 size = static_cast<uint64_t>(file.size());
  if (size != expected) {
    fail(path.string(), std::min(size, expected),
         fmt::format("expected {} bytes in all for the sizes in the header, got {}{}", expected,
                     size, size < expected ? "; the file is cut off" : ""));
  }
  // A matrix exists twice in memory while it is transposed.
  const int64_t largest = h.dim * std::max({h.vocab_size, h.hidden_dim, h.dim});
  check_host_allocation(path.string(), "its weights",
                        file.size() + largest * static_cast<int64_t>(sizeof(float)));
  return {.model = config_of_llama(h),
          .parameters = read_weights(cursor, h),
          .vocab_size = h.vocab_size,
          .max_seq_len = h.max_seq_len};
}

}  // namespace

void check_llama2c_header(const std::filesystem::path& path) {
  storage_error_as<DataError>([&] {
    const FileReader file = open_data(path);
    return Cursor(file).header();
  });
}

ImportedModel read_llama2c(const std::filesystem::path& path) {
  return storage_error_as<DataError>([&] { return read_model(path); });
}

}  // namespace axle

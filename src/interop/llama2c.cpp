#include "interop/llama2c.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/error.h"
#include "io/file.h"
#include "io/mapped_file.h"
#include "layers/lm_head.h"
#include "layers/rope.h"
#include "layers/separate_qkv.h"
#include "layers/stacked.h"

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

// Reads the file from front to back.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  Header header() {
    if (bytes_.size() < kHeaderBytes) {
      fail(path_, bytes_.size(),
           fmt::format("expected a llama2.c header of {} bytes, got {}", kHeaderBytes,
                       bytes_.size()));
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

  /// The next floats, as they stand.
  std::span<const std::byte> floats(int64_t count) {
    const size_t size = static_cast<size_t>(count) * sizeof(float);
    if (size > bytes_.size() - offset_) {  // the whole file's size was checked before
      fail(path_, bytes_.size(),
           fmt::format("expected {} more bytes of weights", offset_ + size - bytes_.size()));
    }
    offset_ += size;
    return bytes_.subspan(offset_ - size, size);
  }

 private:
  int32_t take_number() {
    int32_t v;
    std::memcpy(&v, bytes_.data() + offset_, sizeof(v));
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

  std::span<const std::byte> bytes_;
  const std::string& path_;
  size_t offset_ = 0;
};

CausalLM::Config config_of(const Header& h) {
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

HostTensor tensor(std::span<const std::byte> floats, Shape shape) {
  HostTensor out(Type{DType::kF32, std::move(shape)});
  std::ranges::copy(floats, out.bytes().begin());
  return out;
}

// [outputs, inputs] as [inputs, outputs], under `shape`.
HostTensor transposed(std::span<const std::byte> floats, int64_t inputs, Shape shape) {
  HostTensor out(Type{DType::kF32, std::move(shape)});
  const auto to = out.values<float>();
  const size_t rows = static_cast<size_t>(inputs), columns = to.size() / rows;
  for (size_t o = 0; o < columns; ++o) {
    for (size_t i = 0; i < rows; ++i)
      std::memcpy(&to[i * columns + o], floats.data() + (o * rows + i) * sizeof(float),
                  sizeof(float));
  }
  return out;
}

int64_t num_weights(const Header& h) {
  const int64_t kv_dim = h.num_kv_heads * h.head_dim();
  const int64_t layer =
      2 * h.dim + 2 * h.dim * h.dim + 2 * h.dim * kv_dim + 3 * h.dim * h.hidden_dim;
  const int64_t positions = h.max_seq_len * h.head_dim();
  return h.vocab_size * h.dim * (h.shares_embedding ? 1 : 2) + h.num_layers * layer + h.dim +
         positions;
}

// Fills `out` with one weight of every layer; `read` makes a tensor of one layer's floats.
void read_layers(Cursor& cursor, const Header& h, std::string_view name, int64_t count,
                 Tree<HostTensor>& out,
                 const std::function<HostTensor(std::span<const std::byte>)>& read) {
  for (int64_t i = 0; i < h.num_layers; ++i) {
    out.emplace(fmt::format("decoder/layers/layer{}/{}", i, name), read(cursor.floats(count)));
  }
}

Tree<HostTensor> read_weights(Cursor& cursor, const Header& h) {
  Tree<HostTensor> out;
  const int64_t head_dim = h.head_dim();
  const auto norms = [&](std::string_view name) {
    read_layers(cursor, h, name, h.dim, out, [&](auto floats) { return tensor(floats, {h.dim}); });
  };
  const auto matrices = [&](std::string_view name, int64_t inputs, const Shape& shape) {
    read_layers(cursor, h, name, num_elements(shape), out,
                [&](auto floats) { return transposed(floats, inputs, shape); });
  };
  out.emplace("decoder/emb/weight",
              tensor(cursor.floats(h.vocab_size * h.dim), {h.vocab_size, h.dim}));
  norms("attention/norm/scale");
  matrices("attention/body/qkv/inner/q_proj/weight", h.dim, {h.dim, h.num_heads, head_dim});
  matrices("attention/body/qkv/inner/k_proj/weight", h.dim, {h.dim, h.num_kv_heads, head_dim});
  matrices("attention/body/qkv/inner/v_proj/weight", h.dim, {h.dim, h.num_kv_heads, head_dim});
  read_layers(cursor, h, "attention/body/output/weight", h.dim * h.dim, out, [&](auto floats) {
    return tensor(floats, {h.dim, h.num_heads, head_dim});
  });
  norms("feed_forward/norm/scale");
  matrices("feed_forward/body/gate/weight", h.dim, {h.dim, h.hidden_dim});
  matrices("feed_forward/body/down/weight", h.hidden_dim, {h.hidden_dim, h.dim});
  matrices("feed_forward/body/up/weight", h.dim, {h.dim, h.hidden_dim});
  out.emplace("decoder/output_norm/scale", tensor(cursor.floats(h.dim), {h.dim}));
  cursor.floats(h.max_seq_len * head_dim);  // cosines and sines, which RoPE computes
  if (!h.shares_embedding) {
    out.emplace("decoder/lm_head/weight",
                tensor(cursor.floats(h.vocab_size * h.dim), {h.vocab_size, h.dim}));
  }
  return out;
}

MappedFile map_data(const std::filesystem::path& path) {
  if (!path_exists(path) || directory_exists(path)) {
    throw DataError(fmt::format("{}: expected a llama2.c weight file, got {}", path.string(),
                                path_exists(path) ? "a folder" : "nothing there"));
  }
  try {
    return MappedFile(path);
  } catch (const StorageError& error) {
    throw DataError(error.what());
  }
}

}  // namespace

ImportedModel read_llama2c(const std::filesystem::path& path) {
  const MappedFile file = map_data(path);
  const std::string name = path.string();
  Cursor cursor(file.bytes(), name);
  const Header h = cursor.header();
  const size_t expected = kHeaderBytes + static_cast<size_t>(num_weights(h)) * sizeof(float),
               size = file.bytes().size();
  if (size != expected) {
    fail(name, std::min(size, expected),
         fmt::format("expected {} bytes in all for the sizes in the header, got {}{}", expected,
                     size, size < expected ? "; the file is cut off" : ""));
  }
  return {.config = config_of(h),
          .parameters = read_weights(cursor, h),
          .vocab_size = h.vocab_size,
          .max_seq_len = h.max_seq_len};
}

}  // namespace axle

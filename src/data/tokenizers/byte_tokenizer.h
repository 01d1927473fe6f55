// The tokenizer without a model: every byte is a token. Byte counts give the entropy to compare
// with.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "config/config_type.h"
#include "config/fields.h"
#include "data/tokenizers/tokenizer.h"

namespace axle {

/// Ids 0 .. 255 are the bytes. Id 256 stands between documents: it both begins and ends a document.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr int32_t kBoundary = 256;
  struct Config {
    /// At least 257. A larger value only rounds up the model's vocabulary: ids above 256 never
    /// occur.
    AtLeast<int64_t, 257> vocab_size = 257;
    AXLE_CONFIG(ByteTokenizer, vocab_size)
  };
  /// Throws ConfigError if vocab_size is too small.
  ByteTokenizer(const Config& cfg, const Dims& dims, const Scope& scope);

  int64_t vocab_size() const override { return vocab_size_; }
  SpecialIds special_ids() const override { return {.bos = kBoundary, .eos = kBoundary}; }
  std::vector<int32_t> encode(std::string_view text) const override;
  EncodeBytes encode_bytes() const override { return {.of_text = sizeof(int32_t)}; }
  std::string_view piece(int32_t id) const override;
  uint64_t fingerprint() const override;

 private:
  int64_t vocab_size_;
};

/// The loss of a model that knows only byte frequencies. It is printed beside the loss of a trained
/// model for comparison.
class ByteHistogram {
 public:
  void add(std::string_view text);
  int64_t num_bytes() const { return num_bytes_; }
  /// Returns the order-0 entropy in bits per byte; 0 without any bytes.
  double entropy_bits() const;

 private:
  std::array<int64_t, 256> counts_ = {};
  int64_t num_bytes_ = 0;
};

}  // namespace axle

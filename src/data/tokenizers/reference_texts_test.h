// The texts for which tools/oracle/tokenizer_json.py asked the reference library, and what it said.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/text/json.h"
#include "base/text/unicode.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {

/// The generator of the script's random strings.
class ReferenceRandom {
 public:
  explicit ReferenceRandom(uint64_t seed) : state_(seed) {}
  uint64_t below(uint64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % n;
  }

 private:
  uint64_t state_;
};

/// testdata/reference/tokenizers/expected.json.
class ReferenceTexts {
 public:
  ReferenceTexts() : json_(read_json(read_file(reference_file("tokenizers/expected.json")))) {
    for (const auto& text : json_["texts"]) texts.push_back(text);
    for (const auto& piece : json_["pieces"]) pieces_.push_back(piece);
    for (const auto& range : json_["ranges"]) ranges_.push_back({range[0], range[1]});
    num_blocks = json_["num_blocks"];
    block = json_["block"];
  }
  const nlohmann::ordered_json& expected(const std::string& kind) { return json_["kinds"][kind]; }

  std::string random_text(ReferenceRandom& random) const {
    std::string out;
    for (uint64_t n = random.below(25); n > 0; --n) {
      const uint64_t kind = random.below(4);
      if (kind == 0) {
        out += pieces_[random.below(pieces_.size())];
      } else if (kind == 1) {
        const auto letter = static_cast<char>('a' + random.below(26));
        out += std::string(1 + random.below(3), letter);
      } else {
        const auto [first, last] = ranges_[random.below(ranges_.size())];
        append_utf8(out, first + static_cast<char32_t>(random.below(last - first + 1)));
      }
    }
    return out;
  }

  std::vector<std::string> texts;
  int num_blocks = 0, block = 0;

 private:
  struct Range {
    char32_t first, last;
  };
  nlohmann::ordered_json json_;
  std::vector<std::string> pieces_;
  std::vector<Range> ranges_;
};

/// A hash of several pieces of data, each with its length before it.
class ReferenceDigest {
 public:
  void add(std::string_view bytes) {
    const auto size = static_cast<uint32_t>(bytes.size());
    char length[sizeof(size)];
    std::memcpy(length, &size, sizeof(size));
    hash_.add({length, sizeof(size)});
    hash_.add(bytes);
  }
  void add(const std::vector<int32_t>& ids) {
    add(std::string_view(reinterpret_cast<const char*>(ids.data()), 4 * ids.size()));
  }
  std::string hex() { return hash_.hex().substr(0, 16); }

 private:
  Sha256 hash_;
};

}  // namespace axle

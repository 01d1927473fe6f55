#include "data/tokenizers/open_tokenizer.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/file_format.h"
#include "config/serialize.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/llama2c_tokenizer.h"
#include "data/tokenizers/ranks/ranks_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

// A vocabulary of llama2.c begins with the length of its longest piece, the score of the first
// piece and the length of that.
bool is_llama2c(std::string_view head) {
  int32_t longest = 0, first = 0;
  if (head.size() < 12) return false;
  std::memcpy(&longest, head.data(), sizeof(longest));
  std::memcpy(&first, head.data() + 8, sizeof(first));
  constexpr int32_t kLongest = 1 << 16;  // not all writers know the longest piece
  return longest >= 0 && longest < kLongest && first >= 0 && first < kLongest;
}

}  // namespace

std::filesystem::path find_tokenizer(const std::filesystem::path& folder) {
  for (const std::string_view name : kTokenizerNames) {
    if (path_exists(folder / name)) return folder / name;
  }
  return {};
}

std::string tokenizer_path(const std::string& path) {
  const std::filesystem::path found = find_tokenizer(path_of_text(path));
  return found.empty() ? path : text_of_path(found.string());
}

Child<Tokenizer> tokenizer_in_file(const std::string& given, std::string_view field) {
  const std::string path = tokenizer_path(given);
  if (const std::string problem = path_problem(path); !problem.empty())
    throw DataError(fmt::format("{}: {}", field, problem));
  const std::filesystem::path file = path_of_text(path);
  if (!path_exists(file)) {
    throw DataError(
        fmt::format("{}: expected a file, got {}; set {}", path, nothing_at(file), field));
  }
  if (directory_exists(file)) {
    throw DataError(
        fmt::format("{}: expected a tokenizer's file, or a folder with one of {}, got "
                    "a folder without; set {}",
                    path, fmt::join(kTokenizerNames, ", "), field));
  }
  const std::string head = storage_error_as<DataError>([&] { return head_of(FileReader(file)); });
  const FileFormat* const format = recognized_format(head);
  const std::string_view name = format ? format->name : "";
  if (name == kTokenizerJsonName || (name.empty() && head.starts_with('{')))
    return HuggingFaceTokenizer::Config{.path = path};
  if (name == kRanksName) return RanksTokenizer::Config{.path = path};
  if (name == kTekkenName) return TekkenTokenizer::Config{.path = path};
  if (name == kGgufName) return GgufTokenizer::Config{.path = path};
  if (name == kSentencePieceName) return SentencePieceTokenizer::Config{.path = path};
  if (name.empty() && is_llama2c(head)) return Llama2cTokenizer::Config{.path = path};
  throw DataError(
      fmt::format("{}: expected a tokenizer (tokenizer.json, ranks, Tekken, GGUF, SentencePiece "
                  "or llama2.c), got {}",
                  path, format ? to_text(*format) : "another file"));
}

std::string tokenizer_name(const Child<Tokenizer>& tokenizer) {
  const nlohmann::ordered_json config = to_json(tokenizer);
  const auto path = config.find("path");
  const std::string name(tokenizer.any().type().name);
  if (path == config.end() || !path->is_string()) return name;
  return fmt::format("{} ({})", path->get<std::string>(), name);
}

}  // namespace axle

// What a file is, by the bytes that it begins with: readers name it when they expected another one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace axle {

/// A format, or a thing that stands in place of a file.
struct FileFormat {
  std::string_view name;    // "a git-LFS pointer"
  std::string_view advice;  // "`git lfs pull` fetches the file itself", or ""
  bool is_text;             // its bytes are UTF-8 text
  bool stands_in = false;   // in place of a file that was to be here; its text is of no use
  bool is_model = false;    // weights of a model, perhaps
  bool is_useful_text() const { return is_text && !stands_in; }
};

inline constexpr size_t kFormatHeadBytes = 4096;

/// Names of formats that readers call their own.
inline constexpr std::string_view kSentencePieceName = "a SentencePiece model",
                                  kRanksName = "a file of ranks, as of tiktoken and Llama 3",
                                  kTekkenName = "a Tekken tokenizer of Mistral",
                                  kTokenizerJsonName = "a tokenizer.json of Hugging Face",
                                  kGgufName = "a GGUF file", kPickleName = "a Python pickle";

/// Returns the format of a file that begins with these bytes; nullptr if they are of no format that
/// is known by its beginning, such as plain text or YAML. kFormatHeadBytes are enough; `head` may
/// be the whole file.
const FileFormat* recognized_format(std::string_view head);

/// Returns "<name>" or "<name>; <advice>", for the end of "expected ..., got ...".
std::string to_text(const FileFormat& format);

/// Returns to_text() of the format of a file that begins with these bytes, `otherwise` if it is of
/// no known one.
std::string format_text(std::string_view head, std::string_view otherwise);

/// Throws E "<path>: expected <expected>, got <format>" if the bytes are of a known format that is
/// not called `own`. `expected` may be "a SentencePiece model".
template <class E>
void check_format(const std::string& path, std::string_view expected, std::string_view own,
                  std::string_view head) {
  const FileFormat* const format = recognized_format(head);
  if (format && format->name != own)
    throw E(path + ": expected " + std::string(expected) + ", got " + to_text(*format));
}

}  // namespace axle

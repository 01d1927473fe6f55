#include "base/text/file_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/text/text.h"

namespace axle {
namespace {

constexpr std::string_view kDecompress = "decompress it first";

struct FormatRow {
  std::string_view begin;
  FileFormat format;
};
constexpr FormatRow kByBeginning[] = {
    {"version https://git-lfs.github.com/spec/",
     {"a git-LFS pointer", "`git lfs pull` fetches the file itself", true}},
    {"\x1f\x8b", {"gzip", kDecompress, false}},
    {"\x28\xb5\x2f\xfd", {"zstd", kDecompress, false}},
    {"BZh9", {"bzip2", kDecompress, false}},
    {"\xfd\x37zXZ", {"xz", kDecompress, false}},
    {"PK\x03\x04", {"a zip archive, as of PyTorch or NumPy", "", false}},
    {"PAR1", {"Parquet", "", false}},
    {"ARROW1", {"Arrow", "", false}},
    {"%PDF-", {"PDF", "", false}},
    {"\x7f\x45LF", {"a program", "", false}},
    {"\xff\xfe", {"UTF-16", "", false}},
    {"\xfe\xff", {"UTF-16", "", false}},
    {"GGUF", {"a GGUF file", "", false}},
    {"\x93NUMPY", {"a NumPy array", "", false}},
    {"\x89HDF", {"an HDF5 file", "", false}},
    {"SQLite format 3", {"an SQLite database", "", false}},
    {"\x80\x02", {"a Python pickle", "", false}},
    {"\x80\x04", {"a Python pickle", "", false}},
    {"\x80\x05", {"a Python pickle", "", false}},
    {"{\"sha256\":", {"the manifest of a checkpoint", "", true}},
};
constexpr FileFormat kEmpty = {"an empty file", "", true},
                     kTar = {"a tar archive", "unpack it first", false},
                     kHtml = {"an HTML page", "a download may have failed; fetch the file again",
                              true},
                     kXml = {"XML", "a download may have failed; fetch the file again", true},
                     kRanks = {"a file of ranks, as of tiktoken and Llama 3",
                               "as tokenizers, Axle reads SentencePiece models", true},
                     kTokenizerJson = {"a tokenizer.json of Hugging Face",
                                       "as tokenizers, Axle reads SentencePiece models", true},
                     kIndexJson = {"an index of safetensors files", "name one of its files", true},
                     kSafetensors = {"a safetensors file", "", false},
                     kSentencePiece = {"a SentencePiece model", "", false};

bool is_html(std::string_view text) {
  const std::string start = lower_case(text.substr(0, 64));
  return start.starts_with("<!doctype html") || start.starts_with("<html") ||
         start.starts_with("<head");
}

bool is_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '/';
  });
}

// True for lines of a token in base 64, a space and its rank; the last one may be cut off.
bool is_ranks(std::string_view head) {
  size_t num_lines = 0;
  for (size_t end; (end = head.find('\n')) != head.npos && num_lines < 8; ++num_lines) {
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 1);
    const size_t space = line.find(' ');
    if (space == line.npos || space % 4 != 0 || !is_base64(line.substr(0, space))) return false;
    const std::string_view rank = line.substr(space + 1);
    const bool is_number =
        !rank.empty() && std::ranges::all_of(rank, [](unsigned char c) { return std::isdigit(c); });
    if (!is_number) return false;
  }
  return num_lines > 1;
}

bool is_safetensors(std::string_view head) {
  uint64_t length = 0;
  if (head.size() < sizeof(length) + 2) return false;
  std::memcpy(&length, head.data(), sizeof(length));
  constexpr uint64_t kMaxHeader = 100'000'000;
  return length >= 2 && length <= kMaxHeader && head[sizeof(length)] == '{' &&
         (head[sizeof(length) + 1] == '"' || head[sizeof(length) + 1] == '}');
}

// A model begins with its pieces: field 1, and in it field 1, the text of the piece.
bool is_sentencepiece(std::string_view head) {
  return head.size() > 4 && head[0] == '\n' && head[2] == '\n' &&
         static_cast<unsigned char>(head[3]) + 2 <= static_cast<unsigned char>(head[1]) &&
         head.substr(0, 256).find('\x15') != head.npos;
}

}  // namespace

const FileFormat* recognized_format(std::string_view head) {
  if (head.empty()) return &kEmpty;
  const auto row = std::ranges::find_if(
      kByBeginning, [&](const FormatRow& r) { return head.starts_with(r.begin); });
  if (row != std::end(kByBeginning)) return &row->format;
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return &kTar;
  if (is_safetensors(head)) return &kSafetensors;
  if (is_sentencepiece(head)) return &kSentencePiece;
  const std::string_view text = trim(head.substr(0, kFormatHeadBytes));
  if (is_html(text)) return &kHtml;
  if (text.starts_with("<?xml")) return &kXml;
  if (is_ranks(head)) return &kRanks;
  const auto has = [&](std::string_view key) { return text.find(key) != text.npos; };
  if (text.starts_with('{') && has("\"added_tokens\"")) return &kTokenizerJson;
  if (text.starts_with('{') && has("\"weight_map\"")) return &kIndexJson;
  return nullptr;
}

std::string to_text(const FileFormat& format) {
  return format.advice.empty() ? std::string(format.name)
                               : fmt::format("{}; {}", format.name, format.advice);
}

}  // namespace axle

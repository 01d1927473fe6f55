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

constexpr std::string_view kZip = "PK\x03\x04";
constexpr FileFormat kPickle = {
    kPickleName,
    "reading one may run any code; save its tensors as safetensors (transformers: "
    "model.save_pretrained(DIR))",
    false, false, true};

struct FormatRow {
  std::string_view begin;
  FileFormat format;
};
constexpr FormatRow kByBeginning[] = {
    {"version https://git-lfs.github.com/spec/",
     {"a git-LFS pointer", "`git lfs pull` fetches the file itself", true, true}},
    {"\x1f\x8b", {"gzip", kDecompress, false}},
    {"\x28\xb5\x2f\xfd", {"zstd", kDecompress, false}},
    {"BZh9", {"bzip2", kDecompress, false}},
    {"\xfd\x37zXZ", {"xz", kDecompress, false}},
    {kZip, {"a zip archive, as of PyTorch or NumPy", "", false}},
    {"PAR1", {"Parquet", "axle data build reads files named *.parquet", false}},
    {"ARROW1", {"Arrow", "", false}},
    {"%PDF-", {"PDF", "", false}},
    {"\x7f\x45LF", {"a program", "", false}},
    {"\xff\xfe", {"UTF-16", "", false}},
    {"\xfe\xff", {"UTF-16", "", false}},
    {"GGUF", {kGgufName, "", false, false, true}},
    {"\x93NUMPY", {"a NumPy array", "", false}},
    {"\x89HDF", {"an HDF5 file", "", false}},
    {"SQLite format 3", {"an SQLite database", "", false}},
    {"\x80\x02", kPickle},
    {"\x80\x03", kPickle},
    {"\x80\x04", kPickle},
    {"\x80\x05", kPickle},
    {"{\"sha256\":", {"the manifest of a checkpoint", "", true}},
};
constexpr FileFormat
    kEmpty = {"an empty file", "", true},
    kTar = {"a tar archive", "unpack it first", false},
    kHtml = {"an HTML page", "a download may have failed; fetch the file again", true},
    kXml = {"XML", "a download may have failed; fetch the file again", true},
    kStoreError = {"an error message of an object store", "fetch the file again", true, true},
    kRanks = {kRanksName, "the class RanksTokenizer reads it", true},
    kMerges = {"a list of BPE merges, as of GPT-2", "name the tokenizer.json beside it", true},
    kVocabulary = {"a vocab.json of BPE, as of GPT-2", "name the tokenizer.json beside it", true},
    kTokenizerJson = {kTokenizerJsonName, "the class HuggingFaceTokenizer reads it", true},
    kTekken = {kTekkenName, "the class TekkenTokenizer reads it", true},
    kTokenizerConfig = {"a tokenizer_config.json of Hugging Face",
                        "name the tokenizer.json beside it", true},
    kModelConfig = {"a config.json of Hugging Face", "", true},
    kIndexJson = {"an index of safetensors files", "name one of its files", true},
    kSafetensors = {"a safetensors file", "", false, false, true},
    kSentencePiece = {kSentencePieceName, "", false};

bool is_html(std::string_view text) {
  const std::string start = lower_case(text.substr(0, 64));
  return start.starts_with("<!doctype html") || start.starts_with("<html") ||
         start.starts_with("<head");
}

// True for what object stores return instead of a file.
bool is_store_error(std::string_view text) {
  if (text.starts_with("<?xml"))
    text = trim(text.substr(std::min(text.find('>'), text.size() - 1) + 1));
  return text.starts_with("<Error>") && trim(text.substr(7)).starts_with("<Code>");
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

// True for an object of JSON that numbers its entries from 0 on.
bool is_vocabulary(std::string_view json) {
  const auto take = [&](char c) {
    json = trim(json);
    const bool is_next = json.starts_with(c);
    if (is_next) json.remove_prefix(1);
    return is_next;
  };
  const auto take_string = [&] {
    if (!take('"')) return false;
    size_t end = 0;
    while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
    json.remove_prefix(std::min(end + 1, json.size()));
    return !json.empty();
  };
  if (!take('{')) return false;
  for (const char number : {'0', '1', '2'}) {
    if (!(take_string() && take(':') && take(number) && take(','))) return false;
  }
  return true;
}

// True for pairs of tokens, below the version of the list.
bool is_merges(std::string_view text) {
  if (!text.starts_with("#version: ")) return false;
  const size_t end = text.find('\n');
  if (end == text.npos) return false;
  const std::string_view pair = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  return std::ranges::count(pair, ' ') == 1 && pair.find(": ") == pair.npos;
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
  // PyTorch's files are archives whose first entry is a pickle.
  if (head.starts_with(kZip) && head.find("/data.pkl") != head.npos) return &kPickle;
  const auto row = std::ranges::find_if(
      kByBeginning, [&](const FormatRow& r) { return head.starts_with(r.begin); });
  if (row != std::end(kByBeginning)) return &row->format;
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return &kTar;
  if (is_safetensors(head)) return &kSafetensors;
  if (is_sentencepiece(head)) return &kSentencePiece;
  std::string_view text = trim(head.substr(0, kFormatHeadBytes));
  if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; text.starts_with(kMark))
    text = trim(text.substr(kMark.size()));
  if (is_html(text)) return &kHtml;
  if (is_store_error(text)) return &kStoreError;
  if (text.starts_with("<?xml")) return &kXml;
  if (is_ranks(head)) return &kRanks;
  if (is_merges(text)) return &kMerges;
  if (!text.starts_with('{')) return nullptr;
  const auto has = [&](std::string_view key) { return text.find(key) != text.npos; };
  if (has("\"token_bytes\"") && has("\"rank\"")) return &kTekken;
  const bool has_model = has("\"model\"") && (has("\"vocab\"") || has("\"merges\""));
  if (has("\"added_tokens\"") || has_model) return &kTokenizerJson;
  if (has("\"tokenizer_class\"") || has("\"added_tokens_decoder\"")) return &kTokenizerConfig;
  if (has("\"architectures\"") || has("\"model_type\"")) return &kModelConfig;
  if (has("\"weight_map\"")) return &kIndexJson;
  return is_vocabulary(text) ? &kVocabulary : nullptr;
}

std::string to_text(const FileFormat& format) {
  return format.advice.empty() ? std::string(format.name)
                               : fmt::format("{}; {}", format.name, format.advice);
}

std::string format_text(std::string_view head, std::string_view otherwise) {
  const FileFormat* const format = recognized_format(head);
  return format ? to_text(*format) : std::string(otherwise);
}

}  // namespace axle

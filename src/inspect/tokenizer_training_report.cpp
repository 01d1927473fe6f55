#include "inspect/tokenizer_training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/units.h"
#include "data/token_files/token_card.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
namespace {

double bytes_per_token(const TrainedTokenizer& t) {
  return static_cast<double>(t.text_bytes) /
         static_cast<double>(std::max<int64_t>(t.num_tokens, 1));
}

}  // namespace

void check_tokenizer_folder(const std::string& dir) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    const std::filesystem::path file = std::filesystem::path(dir) / name;
    if (path_exists(file)) {
      throw DataError(fmt::format(
          "--out: expected a folder without a tokenizer, got {}; choose another", file.string()));
    }
  }
  const std::filesystem::path folder = dir;
  if (path_exists(folder) && !directory_exists(folder))
    throw DataError(fmt::format("--out: expected a folder to write into, got the file {}", dir));
}

void save_tokenizer(const TrainedTokenizer& trained, const std::string& dir) {
  make_directories(dir);
  for (const auto& [name, text] : trained.files)
    replace_file(std::filesystem::path(dir) / name, text);
}

std::string to_text(const TokenizerTrainingReport& r) {
  const TrainedTokenizer& t = r.trained;
  std::string out = fmt::format(
      "{}: vocabulary of {} (256 bytes, {}{}, {}), {} of text in {}, about {:.3f} bytes a token\n",
      text_of_path((std::filesystem::path(r.dir) / "tokenizer.json").string()), t.vocab_size,
      t.num_characters > 0 ? counted(t.num_characters, "character") + ", " : "",
      counted(t.num_special, "special token"), counted(t.num_merges, "merge"),
      bytes_text(t.text_bytes), counted(t.num_files, "file"), bytes_per_token(t));
  if (t.vocab_size < r.wanted_size) {
    out += fmt::format(
        "warning: the vocabulary is smaller than {}: no other pair comes {} in the text\n",
        r.wanted_size, counted(r.min_frequency, "time"));
  }
  if (t.num_files_cut > 0) {
    out += fmt::format("warning: {} had more text than {} share of --max-text ({:g} GB)\n",
                       counted(t.num_files_cut, "file"), t.num_files_cut == 1 ? "its" : "their",
                       r.max_text_gigabytes);
  }
  if (t.skipped.count > 0) out += to_text(t.skipped) + "\n";
  return out;
}

nlohmann::ordered_json to_json(const TokenizerTrainingReport& r) {
  const TrainedTokenizer& t = r.trained;
  nlohmann::ordered_json out;
  out["dir"] = text_of_path(r.dir);
  out["vocab_size"] = t.vocab_size;
  out["num_special"] = t.num_special;
  out["num_characters"] = t.num_characters;
  out["num_merges"] = t.num_merges;
  out["num_files"] = t.num_files;
  out["num_files_cut"] = t.num_files_cut;
  out["text_bytes"] = t.text_bytes;
  out["num_pieces"] = t.num_pieces;
  out["bytes_per_token"] = bytes_per_token(t);
  out["skipped"] = to_json(t.skipped);
  return out;
}

std::string to_text(const TokenizerTrainingProgress& p, double seconds) {
  if (p.num_tokens > 0) return fmt::format("{}/{} tokens", p.num_tokens, p.vocab_size);
  const double rate = seconds > 0 ? static_cast<double>(p.text_bytes) / seconds : 0;
  return fmt::format("{}/{} files, {} of text, {}/s", p.num_files_done, p.num_files,
                     bytes_text(p.text_bytes), bytes_text(rate));
}

}  // namespace axle

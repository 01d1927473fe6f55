#include "data/tokenizers/added_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizers/hugging_face/files_beside.h"
#include "io/user_path.h"

namespace axle {
namespace {

using hugging_face::FilesBeside;

// Returns the tokens of the files with the special ones that they name and the model may lack.
std::vector<AddedToken> all_tokens(const FilesBeside& files, const BarePieces& bare) {
  std::vector<AddedToken> out = files.distinct_added_tokens();
  const auto is_new = [&](const AddedToken& token) { return !bare.find(token.text); };
  int64_t next_id = bare.num_pieces + std::ranges::count_if(out, is_new);
  std::unordered_set<std::string> texts;
  for (const AddedToken& token : out) texts.insert(token.text);
  for (AddedToken& token : files.special_tokens()) {
    if (!texts.insert(token.text).second) continue;
    const auto known = bare.find(token.text);
    token.id = static_cast<int32_t>(known ? *known : next_id++);
    out.push_back(std::move(token));
  }
  for (AddedToken& token : out) token.normalized = false;  // the model normalizes by itself
  return out;
}

// Ids may have gaps, but each has its place in memory.
void check_ids(const AddedTokens& tokens, const std::string& model, int64_t num_pieces) {
  constexpr int64_t kMostAdded = 1 << 16;
  for (const AddedToken& token : tokens.tokens()) {
    if (token.id < num_pieces + kMostAdded) continue;
    throw DataError(fmt::format("{}: expected ids below {} in the files beside it, got {} for '{}'",
                                model, num_pieces + kMostAdded, token.id, printable(token.text)));
  }
}

std::string to_hash(const AddedPieces& pieces, const BarePieces& bare) {
  std::string out;
  for (const AddedToken& token : pieces.tokens.tokens()) {
    if (token.special && token.id < bare.num_pieces && bare.is_control(token.id)) continue;
    out += fmt::format("{} {} {}{}{}{}\n", token.id, token.text, token.special, token.single_word,
                       token.strip_left, token.strip_right);
  }
  if (!out.empty() && pieces.has_one_space) out += "one space";
  return out;
}

}  // namespace

bool BarePieces::is_control(int32_t id) const {
  return std::ranges::binary_search(controls, id, {}, &AddedToken::id);
}

AddedPieces added_pieces_beside(const std::string& model, const BarePieces& bare) {
  AddedPieces out{.special_ids = bare.special_ids, .num_ids = bare.num_pieces};
  const FilesBeside files(path_of_text(model));
  if (files.name_tokens()) {
    out.tokens = AddedTokens(all_tokens(files, bare), {}, model);
    check_ids(out.tokens, model, bare.num_pieces);
    for (const AddedToken& token : out.tokens.tokens())
      out.num_ids = std::max(out.num_ids, token.id + int64_t{1});
    for (const AddedToken& token : files.special_tokens())
      out.named.insert(out.tokens.find(token.text)->id);
    const auto set = [&](std::optional<int32_t>& id, const char* name) {
      const std::string text = files.special_token(name).value_or("");
      if (!text.empty()) id = out.tokens.find(text)->id;
    };
    set(out.special_ids.bos, "bos_token");
    set(out.special_ids.eos, "eos_token");
    set(out.special_ids.pad, "pad_token");
    if (!files.flag("add_bos_token", true)) out.special_ids.bos.reset();
    if (out.special_ids.bos) out.before = {*out.special_ids.bos};
    if (out.special_ids.eos && files.flag("add_eos_token", false))
      out.behind = {*out.special_ids.eos};
    out.has_one_space = !files.flag("legacy", true);
  } else {
    out.tokens = AddedTokens(bare.controls, {}, model);
  }
  out.chat = files.chat_settings(out.num_ids);
  out.hashed = to_hash(out, bare);
  return out;
}

}  // namespace axle

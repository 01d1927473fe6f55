// What `axle data build` makes of its flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/chat/build_chat_file.h"
#include "data/token_files/make_token_file.h"

namespace axle {

/// The flags as they were given; "" and none: as help says.
struct TokenBuildFlags {
  std::vector<std::string> sources = {};
  std::string tokenizer = {}, prefix = {}, unit = {};
  OnError on_error = OnError::kFail;
  // Of texts.
  std::optional<std::string> field = {};
  bool no_begin = false, no_end = false;
  // Of conversations and pairs.
  std::optional<std::string> chat_template = {};
  std::optional<LongConversations> too_long = {};
  std::optional<Learned> learned = {};
  std::optional<int64_t> seq_len = {};
};

/// Builds a token file of texts, conversations or pairs: what `unit` says, else what the first
/// record is. Throws ConfigError for flags of the other kind, and as build_token_file() and
/// build_chat_file() do.
TokenBuildResult build_tokens(const TokenBuildFlags& flags, const TokenBuildHooks& hooks);

}  // namespace axle

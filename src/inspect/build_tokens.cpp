#include "inspect/build_tokens.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/chat/build_chat_file.h"
#include "data/data_file.h"
#include "data/token_files/build_token_file.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/open_tokenizer.h"
#include "inspect/token_file_report.h"
#include "io/token_file.h"

namespace axle {
namespace {

const char* kind_of_unit(const std::string& unit) {
  return unit == "conversation" ? "conversations" : unit == "pair" ? "pairs of answers" : "texts";
}

std::string unit_of(const TokenBuildFlags& flags) {
  if (!flags.unit.empty()) return flags.unit;
  if (flags.field) return "file";
  std::string unit, first;
  for (const std::string& source : flags.sources) {
    const DataKind kind = data_kind_at(source);
    if (kind == DataKind::kUnknown) continue;  // the build says what is wrong
    const std::string one = kind == DataKind::kConversations ? "conversation"
                            : kind == DataKind::kPreferences ? "pair"
                                                             : "file";
    if (!unit.empty() && one != unit) {
      throw ConfigError(fmt::format(
          "SOURCES: expected one kind, got {} in {} and {} in {}; build each by itself{}",
          kind_of_unit(unit), first, kind_of_unit(one), source,
          one == "pair" || unit == "pair"
              ? ", and learn from the pairs alone"
              : " and mix them by axle train --data A.idx=0.5 --data B.idx=0.5"));
    }
    if (unit.empty()) first = source;
    unit = one;
  }
  return unit.empty() ? "file" : unit;
}

void check_flags(const TokenBuildFlags& flags, const std::string& unit, bool is_chat) {
  const auto check = [&](bool is_given, const char* flag, bool is_good, const char* expected) {
    if (!is_given || is_good) return;
    if (!flags.unit.empty()) {
      throw ConfigError(
          fmt::format("{}: expected {}, got --unit {}; leave it out, or choose another --unit",
                      flag, expected, unit));
    }
    // Without a record, nobody knows what the sources would hold.
    for (const std::string& source : flags.sources) check_has_record(source, "SOURCES");
    throw ConfigError(
        fmt::format("{}: expected {}, got {}; leave it out", flag, expected, kind_of_unit(unit)));
  };
  const char* const chats = "conversations or pairs of answers";
  check(flags.field.has_value(), "--field", !is_chat, "texts");
  check(flags.no_begin, "--no-begin", !is_chat, "texts");
  check(flags.no_end, "--no-end", !is_chat, "texts");
  check(flags.chat_template.has_value(), "--chat-template", is_chat, chats);
  check(flags.seq_len.has_value(), "--seq-len", is_chat, chats);
  const bool is_conversation = unit == "conversation";
  check(flags.too_long.has_value(), "--too-long", is_conversation, "conversations");
  check(flags.learned.has_value(), "--learned", is_conversation, "conversations");
}

TokenBuildResult build_chat(const TokenBuildFlags& flags, const std::string& unit, TokenWork work,
                            const TokenBuildHooks& hooks) {
  work.batch_bytes = kChatBatchBytes;
  ChatBuild chat{.work = std::move(work),
                 .where = join(flags.sources, ", "),
                 .chat_template = flags.chat_template,
                 .seq_len = flags.seq_len};
  from_text(unit, chat.unit);
  if (flags.learned) chat.learned = *flags.learned;
  if (flags.too_long) chat.too_long = *flags.too_long;
  const ChatMaker maker(chat, chat.work.tokenizer.build({}, {.path = "tokenizer"}));
  return build_chat_file(maker, hooks);
}

}  // namespace

TokenBuildResult build_tokens(const TokenBuildFlags& flags, const TokenBuildHooks& hooks) {
  const std::string unit = unit_of(flags);
  const bool is_chat = unit == "conversation" || unit == "pair";
  check_flags(flags, unit, is_chat);
  const Child<Tokenizer> tokenizer = tokenizer_named(flags.tokenizer, "--tokenizer");
  const std::string path = tokenizer.get_if<ByteTokenizer>() ? "" : tokenizer_path(flags.tokenizer);
  if (is_chat) {
    return build_chat(flags, unit,
                      {.sources = flags.sources,
                       .tokenizer = tokenizer,
                       .tokenizer_path = path,
                       .prefix = token_file_prefix(flags.prefix),
                       .on_error = flags.on_error,
                       .on_unfit = flags.on_error},
                      hooks);
  }
  TokenBuild build{.sources = flags.sources,
                   .tokenizer = tokenizer,
                   .tokenizer_path = path,
                   .prefix = token_file_prefix(flags.prefix),
                   .begins = !flags.no_begin,
                   .ends = !flags.no_end,
                   .on_error = flags.on_error};
  if (flags.field) build.field = *flags.field;
  from_text(unit, build.unit);
  return build_token_file(build, hooks);
}

}  // namespace axle

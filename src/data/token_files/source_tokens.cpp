#include "data/token_files/source_tokens.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "data/chat/streamed_chat.h"
#include "data/data_kind.h"
#include "data/token_files/corpus_source.h"
#include "data/token_files/streamed_text.h"
#include "io/file.h"

namespace axle {
namespace {

enum class Kind { kTokens, kTexts, kConversations, kPairs };

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kTokens:
      return "a token file";
    case Kind::kTexts:
      return "texts";
    case Kind::kConversations:
      return "conversations";
    case Kind::kPairs:
      break;
  }
  return "pairs of answers";
}

// True for what is called so too, which may be damaged.
bool is_called_token_file(const std::string& path) {
  const std::string prefix = token_file_prefix(path);
  return is_token_file(path) || prefix != path ||
         (!path_exists(path) && path_exists(prefix + ".idx"));
}

Kind kind_of(const TokenSource& source, const std::string& where) {
  const std::string& path = source.path.get();
  if (is_called_token_file(path)) return Kind::kTokens;
  if (const std::string none = no_texts_at(path); !none.empty()) {
    throw DataError(fmt::format(
        "{}.path: {}: expected a token file, or files of texts, of conversations or of pairs of "
        "answers, got {}",
        where, path, none));
  }
  if (source.field || source.unit) return Kind::kTexts;
  const DataKind kind = data_kind_at(path);
  if (kind == DataKind::kConversations) return Kind::kConversations;
  return kind == DataKind::kPreferences ? Kind::kPairs : Kind::kTexts;
}

// A field that changes nothing is a mistake.
void check_fields(const TokenSource& source, Kind kind, const std::string& where) {
  const auto check = [&](bool is_set, const char* field, bool is_read, const char* expected) {
    if (!is_set || is_read) return;
    throw ConfigError(fmt::format("{}.{}: expected files of {}, got {} in {}; leave the field out",
                                  where, field, expected, name_of(kind), *source.path));
  };
  const bool is_raw = kind != Kind::kTokens, is_chat = is_raw && kind != Kind::kTexts;
  check(source.field.has_value(), "field", is_raw, "texts");
  check(source.unit.has_value(), "unit", is_raw, "texts");
  check(source.on_error != OnError::kFail, "on_error", is_raw, "texts or conversations");
  check(source.chat_template.has_value(), "chat_template", is_chat, "conversations");
  check(source.learned.has_value(), "learned", kind == Kind::kConversations, "conversations");
}

MadeTokens of_texts(const TokenSource& source, const Child<Tokenizer>& tokenizer,
                    const std::string& where) {
  CorpusSource::Config files{.unit = source.unit.value_or(DocumentUnit::kFile),
                             .on_error = source.on_error};
  files.path = source.path.get();
  if (source.field) files.field = *source.field;
  return tokens_of_text(files, tokenizer, {.input = where, .source = where});
}

MadeTokens of_chat(const TokenSource& source, Kind kind, const Child<Tokenizer>& tokenizer,
                   const Input::Dims& dims, const std::string& where) {
  ChatBuild build{.work = {.tokenizer = tokenizer,
                           .on_unfit = source.on_error,
                           .on_unfit_field = where + ".on_error",
                           .batch_bytes = kChatBatchBytes},
                  .where = where,
                  .unit = kind == Kind::kPairs ? ChatUnit::kPair : ChatUnit::kConversation,
                  .chat_template = source.chat_template,
                  .template_field = where + ".chat_template",
                  .learned = source.learned.value_or(Learned::kAssistant),
                  .model_vocab_size = dims.vocab_size};
  ChatSource::Config files{.on_error = source.on_error};
  files.path = source.path.get();
  return tokens_of_chat(std::move(build), files, {.input = where, .source = where});
}

}  // namespace

std::optional<MadeTokens> tokens_of_source(const TokenSource& source,
                                           const Child<Tokenizer>& tokenizer,
                                           const Input::Dims& dims, const std::string& where) {
  const Kind kind = kind_of(source, where);
  check_fields(source, kind, where);
  if (kind == Kind::kTokens) return std::nullopt;
  if (kind == Kind::kTexts) return of_texts(source, tokenizer, where);
  return of_chat(source, kind, tokenizer, dims, where);
}

}  // namespace axle

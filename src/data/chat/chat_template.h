// A model's chat template: conversations to the text that the model was trained on.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/chat/conversation.h"
#include "data/chat/jinja/template.h"

namespace axle {

/// Renders messages as the library transformers does: the template sees `messages`, `tools`,
/// `documents`, `add_generation_prompt`, the texts of special tokens and further variables.
class ChatTemplate {
 public:
  /// `special_tokens` has names and texts: {"bos_token", "<s>"}. `name` stands for the template in
  /// messages. Throws DataError "<name>:<line>: ..." for what is no template.
  ChatTemplate(std::string_view source, std::string name,
               std::vector<std::pair<std::string, std::string>> special_tokens = {});

  struct Options {
    /// End with what begins an answer, for the model to go on.
    bool add_generation_prompt = false;
    /// More variables, such as {"enable_thinking", false}.
    jinja::Variables variables = {};
    /// What strftime_now() writes, in Unix time; none: the time of the clock.
    std::optional<int64_t> now_secs = {};
  };
  /// Throws DataError as jinja::Template::render() does.
  jinja::Rendering render(std::span<const jinja::Value> messages, const jinja::Value& tools,
                          const Options& options) const;
  /// The same; none where that throws DataError.
  std::optional<jinja::Rendering> try_render(std::span<const jinja::Value> messages,
                                             const jinja::Value& tools,
                                             const Options& options) const;
  /// True if the template has `generation` blocks: they say what an assistant said.
  bool marks_generation() const { return marks_generation_; }
  /// True if the template reads a list of parts, {"type": "text", "text": "..."}, as it reads their
  /// text. One that prints contents as they are would write Python's form of a list.
  bool reads_parts() const { return reads_parts_; }
  const std::string& name() const { return template_.name(); }
  /// The text that it was made from.
  const std::string& source() const { return source_; }
  /// Returns a hash that is equal for templates with the same text and special tokens.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  jinja::Template template_;
  std::string source_;
  std::vector<std::pair<std::string, std::string>> special_tokens_;
  bool marks_generation_;
  bool reads_parts_;
  uint64_t fingerprint_;
};

class Tokenizer;

/// Returns the template of a file, as read_chat_template() reads it; without a file, that of the
/// tokenizer's own files, if they have one. It sees the tokenizer's special tokens. Throws as
/// read_chat_template() and ChatTemplate do.
std::optional<ChatTemplate> find_chat_template(const Tokenizer& tokenizer,
                                               const std::optional<std::string>& file,
                                               std::string_view field);
/// Returns the template of a text; it sees the tokenizer's special tokens. Throws as ChatTemplate
/// does.
ChatTemplate chat_template_of_text(const Tokenizer& tokenizer, std::string_view text,
                                   std::string name);
/// As find_chat_template(), and plain_chat_template() where there is none. Throws DataError, too,
/// for a template that writes the same whatever a question and its answer say.
ChatTemplate chat_template_or_plain(const Tokenizer& tokenizer,
                                    const std::optional<std::string>& file, std::string_view field);
/// Returns a template that puts each message between <|im_start|> with its role and <|im_end|>.
ChatTemplate plain_chat_template(const Tokenizer& tokenizer);

/// Returns the text of the chat template in a file: a *.jinja file, a tokenizer_config.json with
/// the field "chat_template", whose template "default" is taken if it has several, or a GGUF file.
/// Throws DataError naming the file and `field`, the config path to set.
std::string read_chat_template(const std::string& path, std::string_view field);

}  // namespace axle

#include "infer/text_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text/unicode.h"
#include "data/chat/written_messages.h"
#include "data/tokenizers/tokenizer.h"
#include "interop/tokenizer_files.h"

namespace axle {

EndTexts::EndTexts(std::vector<std::string> ends) : ends_(std::move(ends)) {
  std::erase(ends_, "");
}

std::string EndTexts::push(std::string_view piece) {
  if (found_) return {};
  held_ += piece;
  size_t shown = held_.size();
  for (const std::string& end : ends_) {
    if (const size_t at = held_.find(end); at != held_.npos) {
      found_ = true;
      shown = std::min(shown, at);
    }
  }
  if (found_) return std::exchange(held_, {}).substr(0, shown);
  for (const std::string& end : ends_) {
    // The longest beginning of the end that the text ends with.
    for (size_t size = std::min(end.size() - 1, held_.size()); size > 0; --size) {
      if (!std::string_view(held_).ends_with(std::string_view(end).substr(0, size))) continue;
      shown = std::min(shown, held_.size() - size);
      break;
    }
  }
  std::string out = held_.substr(0, shown);
  held_.erase(0, shown);
  return out;
}

std::string EndTexts::finish() { return std::exchange(held_, {}); }

namespace {

Generator::Options generator_options(const LoadedModel& loaded, CompileOptions compile, Mesh mesh) {
  return {.context_len = loaded.context_len,
          .compute_dtype = loaded.compute_dtype,
          .mesh = std::move(mesh),
          .streams = loaded.streams,
          .compile = std::move(compile)};
}

void check_utf8(std::string_view prompt) {
  if (const auto at = find_invalid_utf8(prompt)) {
    throw ConfigError(
        fmt::format("prompt: expected UTF-8, got an invalid byte at byte {}", *at + 1));
  }
}

// A tokenizer may have special tokens beyond the model's vocabulary.
void check_ids(const TokenIds& ids, const Tokenizer& tokenizer, int64_t vocab_size) {
  for (const int32_t id : ids) {
    if (id < vocab_size) continue;
    throw ConfigError(
        fmt::format("prompt: expected tokens of the model's vocabulary of {}, got '{}' with id {}",
                    vocab_size, tokenizer.token(id), id));
  }
}

}  // namespace

nlohmann::ordered_json to_json(const GeneratedText& g) {
  return {{"prompt", g.prompt},
          {"text", g.text},
          {"tokens", g.row.tokens},
          {"stop", to_text(g.row.stop)},
          {"prompt_tokens", g.prompt_tokens},
          {"prefill_secs", g.prefill_secs},
          {"tokens_per_sec", g.tokens_per_sec}};
}

std::string speed_text(const GeneratedText& g) {
  return fmt::format("{} tokens ({}), {:.1f} tokens/s, prefill of {} in {:.1f} ms",
                     g.row.tokens.size(), to_text(g.row.stop), g.tokens_per_sec, g.prompt_tokens,
                     1e3 * g.prefill_secs);
}

TextGenerator::TextGenerator(LoadedModel loaded, Runtime& runtime, CompileOptions compile,
                             Mesh mesh)
    : loaded_(std::move(loaded)),
      generator_(*loaded_.model, loaded_.parameters, runtime,
                 generator_options(loaded_, std::move(compile), std::move(mesh))) {
  loaded_.parameters.clear();  // they are now on the device
}

GeneratedText TextGenerator::generate(std::string_view prompt, GenerateOptions options,
                                      const OnText& on_text) {
  check_utf8(prompt);
  TokenIds ids = tokenizer().encode(prompt);
  if (const auto bos = tokenizer().special_ids().bos) ids.insert(ids.begin(), *bos);
  return generate(std::move(ids), std::string(prompt), std::move(options), on_text);
}

GeneratedText TextGenerator::generate(TokenIds ids, std::string prompt, GenerateOptions options,
                                      const OnText& on_text) {
  check_ids(ids, tokenizer(), loaded_.model->vocab_size());
  const SpecialIds special = tokenizer().special_ids();
  for (const auto& end : {special.bos, special.eos}) {
    if (end) options.end_tokens.push_back(*end);
  }
  std::ranges::copy(tokenizer().chat_settings().end_ids, std::back_inserter(options.end_tokens));

  GeneratedText out{.prompt = std::move(prompt), .text = {}, .prompt_tokens = std::ssize(ids)};
  StreamDecoder decoder(tokenizer());
  for (const int32_t id : ids) decoder.push(id);
  EndTexts ends(options.end_texts);
  const auto emit = [&](const std::string& text) {
    out.text += text;
    if (on_text && !text.empty()) on_text(text);
  };
  Generated generated = generator_.generate({&ids, 1}, options, [&](size_t, int32_t token) {
    emit(ends.push(decoder.push(token)));
    return !ends.found();
  });
  emit(ends.push(decoder.finish()));
  emit(ends.finish());
  out.row = std::move(generated.rows.front());
  out.prefill_secs = generated.prefill_secs;
  out.tokens_per_sec = generated.tokens_per_sec();
  return out;
}

namespace {

constexpr ChatTemplate::Options kPrompt{.add_generation_prompt = true};

}  // namespace

ChatSession::ChatSession(TextGenerator& generator, ChatTemplate chat,
                         std::optional<std::string> system)
    : generator_(generator),
      chat_(std::move(chat)),
      end_(answer_end(chat_, generator.tokenizer())) {
  if (system) messages_.push_back(message_of("system", *system));
}

// Some templates write no message of the system. A text that is no template writes none at all.
void ChatSession::check_written(std::span<const jinja::Value> messages,
                                const std::string& prompt) const {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!leaves_out(chat_, messages, i, {}, kPrompt, prompt)) continue;
    const bool is_system = role_of(messages[i]) == "system";
    throw ConfigError(fmt::format(
        "{}: expected a chat template that writes {}, got one that leaves it out{}; name another "
        "by --chat-template",
        is_system ? "--system" : chat_.name(), is_system ? "it" : "the user's message",
        is_system ? fmt::format(" ({})", chat_.name()) : ""));
  }
}

GeneratedText ChatSession::answer(std::string_view message, GenerateOptions options,
                                  const TextGenerator::OnText& on_text) {
  if (const auto at = find_invalid_utf8(message)) {
    throw ConfigError(
        fmt::format("prompt: expected UTF-8, got an invalid byte at byte {}", *at + 1));
  }
  std::vector<jinja::Value> messages = messages_;
  messages.push_back(message_of("user", message));
  std::string prompt = chat_.render(messages, {}, kPrompt).text;
  const bool has_answer = !messages_.empty() && role_of(messages_.back()) == "assistant";
  if (!has_answer) check_written(messages, prompt);
  std::ranges::copy(end_.tokens, std::back_inserter(options.end_tokens));
  std::ranges::copy(end_.texts, std::back_inserter(options.end_texts));
  TokenIds ids = generator_.tokenizer().encode_with_special(prompt);
  GeneratedText out =
      generator_.generate(std::move(ids), std::move(prompt), std::move(options), on_text);
  messages.push_back(message_of("assistant", out.text));
  messages_ = std::move(messages);
  return out;
}

ChatTemplate chat_template_of(const LoadedModel& loaded, const std::optional<std::string>& file) {
  if (!file) {
    if (auto trained = trained_chat_template(loaded)) return std::move(*trained);
  }
  if (auto found = find_chat_template(*loaded.tokenizer, file, "--chat-template"))
    return std::move(*found);
  throw ConfigError(
      "--chat: expected a model with a chat template, got one without; name the file of one by "
      "--chat-template");
}

}  // namespace axle

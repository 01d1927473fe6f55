#include "data/chat/template_facts.h"

#include <algorithm>

#include "data/chat/answer_end.h"

namespace axle {
namespace {

void add_once(std::vector<std::string>& all, const std::string& text) {
  if (std::ranges::count(all, text) == 0) all.push_back(text);
}

// Other ends, such as an empty line, are meant to be text.
bool is_like_a_token(std::string_view text) {
  return text.starts_with('<') || text.starts_with('[');
}

}  // namespace

std::vector<std::string> spelled_ends(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  std::vector<std::string> out = answer_end(chat, tokenizer).texts;
  std::erase_if(out, [](const std::string& text) { return !is_like_a_token(text); });
  return out;
}

void add_template(InputFacts& facts, const ChatTemplate& chat, const Tokenizer& tokenizer) {
  add_once(facts.chat_templates, chat.source());
  for (const std::string& end : spelled_ends(chat, tokenizer)) add_once(facts.spelled_ends, end);
}

}  // namespace axle

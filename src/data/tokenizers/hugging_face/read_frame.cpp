#include <fmt/format.h>

#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"

namespace axle::hugging_face {
namespace {

int32_t id_of(const JsonView& json) {
  return static_cast<int32_t>(json.integer(0, Vocabulary::kMaxId));
}

// The fields "cls" and "sep" are a token and its id.
int32_t id_of_pair(const JsonView& pair) {
  const auto elements = pair.elements();
  if (elements.size() != 2) pair.fail("a token and its id");
  return id_of(elements[1]);
}

// Each text gets them; a file may name the same ids again and again.
constexpr size_t kMostIds = 1024;

void check_size(const Frame& frame, size_t more, const JsonView& where) {
  if (frame.before.size() + frame.behind.size() + more > kMostIds)
    where.fail(fmt::format("post-processors that put at most {} ids around a text", kMostIds));
}

// A text in the middle of others.
void read_template(Frame& out, const JsonView& json) {
  const JsonView tokens = json.at("special_tokens"), single = json.at("single");
  if (single.json().size() > kMostIds)
    single.fail(fmt::format("a template of at most {} parts", kMostIds));
  std::vector<int32_t> before, behind;
  bool is_behind = false;
  for (const JsonView& part : single.elements()) {
    if (part.find("Sequence")) {
      if (is_behind) part.fail("a template with one text");
      is_behind = true;
      continue;
    }
    const JsonView named = part.at("SpecialToken").at("id");
    const JsonView ids = tokens.at(named.text()).at("ids");
    check_size(out, before.size() + behind.size() + ids.json().size(), ids);
    for (const JsonView& id : ids.elements()) (is_behind ? behind : before).push_back(id_of(id));
  }
  out.before.insert(out.before.begin(), before.begin(), before.end());
  out.behind.insert(out.behind.end(), behind.begin(), behind.end());
}

void read_into(Frame& out, const JsonView& json) {
  const JsonView type = json.at("type");
  const std::string& name = type.text();
  if (name == "Sequence") {
    for (const JsonView& part : json.at("processors").elements()) read_into(out, part);
  } else if (name == "TemplateProcessing") {
    read_template(out, json);
  } else if (name == "BertProcessing" || name == "RobertaProcessing") {
    check_size(out, 2, json);
    out.before.insert(out.before.begin(), id_of_pair(json.at("cls")));
    out.behind.push_back(id_of_pair(json.at("sep")));
  } else if (name != "ByteLevel") {  // which changes offsets alone
    type.fail("one of Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel");
  }
}

}  // namespace

Frame read_frame(const JsonView& json) {
  Frame out;
  read_into(out, json);
  return out;
}

}  // namespace axle::hugging_face

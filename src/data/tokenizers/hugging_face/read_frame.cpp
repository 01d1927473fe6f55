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

// A text in the middle of others.
void read_template(Frame& out, const JsonView& json) {
  const JsonView tokens = json.at("special_tokens");
  std::vector<int32_t> before, behind;
  bool is_behind = false;
  for (const JsonView& part : json.at("single").elements()) {
    if (part.find("Sequence")) {
      if (is_behind) part.fail("a template with one text");
      is_behind = true;
      continue;
    }
    const JsonView named = part.at("SpecialToken").at("id");
    for (const JsonView& id : tokens.at(named.text()).at("ids").elements())
      (is_behind ? behind : before).push_back(id_of(id));
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

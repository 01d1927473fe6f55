// The chat templates of published models against Jinja2, with conversations of all kinds
// (tools/oracle/published_chat_templates.py).
#include "base/text/json.h"
#include "data/chat/jinja/template_outcome_test.h"
#include "data/tokenizers/reference_texts_test.h"
#include "testing/foreign_data.h"

namespace axle::jinja {
namespace {

using Json = nlohmann::ordered_json;

class PublishedTemplates : public ForeignDataTest {
 protected:
  // A hash of the texts, and of the kinds of errors, for a conversation with and without tools,
  // with and without a prompt, and with the variables that programs add.
  std::string hash(const std::string& source, const Json& messages) const {
    ReferenceDigest out;
    for (const Json& tools : made_.at("tools")) {
      for (const bool add_prompt : {false, true}) {
        for (const Json& more : made_.at("more")) {
          Json variables = {{"messages", messages},
                            {"tools", tools},
                            {"documents", nullptr},
                            {"add_generation_prompt", add_prompt}};
          variables.update(made_.at("names"));
          variables.update(more);
          const Outcome got = outcome_of(source, variables);
          out.add(got.kind + "\n" + (got.kind == "text" ? got.text : ""));
        }
      }
    }
    return out.hex();
  }
  const Json made_ = read_json(read_file(reference_file("chat/published.json")));
};

TEST_F(PublishedTemplates, RenderAsJinja2Does) {
  ASSERT_GE(made_.at("hashes").size(), 80u);
  for (const auto& [name, hashes] : made_.at("hashes").items()) {
    const std::string path = "templates/" + name + ".jinja";
    AXLE_NEEDS_FILES(path.c_str());
    const std::string source = read_file(file(path));
    for (size_t i = 0; i < hashes.size(); ++i) {
      const Json& messages = made_.at("conversations").at(i);
      EXPECT_EQ(hash(source, messages), hashes[i].get<std::string>()) << name << messages;
    }
  }
}

}  // namespace
}  // namespace axle::jinja

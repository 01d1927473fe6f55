// Templates against Jinja2, set up as transformers does (tools/oracle/chat_templates.py).

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/process_start.h"
#include "base/text/json.h"
#include "data/chat/jinja/template_outcome_test.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle::jinja {
namespace {

// A run without variables of its own has the shared ones. Returns the number of runs.
size_t expect_same(const nlohmann::ordered_json& cases, const nlohmann::ordered_json& shared = {}) {
  size_t runs = 0;
  for (const auto& one : cases) {
    for (const auto& run : one["runs"]) {
      const auto& variables = run.contains("variables") ? run["variables"] : shared;
      SCOPED_TRACE(one["name"].get<std::string>() + "\n" + variables.dump());
      const Outcome got = outcome_of(one["template"], variables);
      ++runs;
      if (run.contains("error")) {
        EXPECT_EQ(got.kind, run["error"].get<std::string>()) << got.text;
        EXPECT_EQ(got.text.rfind("template:", 0), 0u) << got.text;
        continue;
      }
      EXPECT_EQ(got.kind, "text") << got.text;
      EXPECT_EQ(got.text, run["text"].get<std::string>());
      std::vector<Span> spans;
      if (run.contains("generations")) {
        for (const auto& span : run["generations"]) spans.push_back({span[0], span[1]});
      }
      // For the library, a block in a macro has the offset of the call.
      EXPECT_EQ(got.generations, got.has_lost_generation ? got.generations : spans);
    }
  }
  return runs;
}

TEST(TemplateReference, TemplatesRenderAsInJinja2) {
  const auto cases = read_json(read_file(reference_file("chat/templates.json")));
  EXPECT_GE(cases.size(), 40u);
  EXPECT_GE(expect_same(cases), 70u);
}

// More of them: AXLE_RANDOM_TEMPLATES names what tools/oracle/random_chat_templates.py printed.
TEST(TemplateReference, RandomTemplatesRenderAsInJinja2) {
  const std::string more = environment_variable("AXLE_RANDOM_TEMPLATES");
  const auto file =
      read_json(read_file(more.empty() ? reference_file("chat/random_templates.json") : more));
  EXPECT_GE(expect_same(file["cases"], file["variables"]), 100u);
}

}  // namespace
}  // namespace axle::jinja

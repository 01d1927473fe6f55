// Renders bytes as a chat template of a short conversation.
#include <nlohmann/json.hpp>

#include "data/chat/jinja/template.h"
#include "fuzz_file.h"

namespace {

const axle::jinja::Variables& variables() {
  static const axle::jinja::Variables out = [] {
    const auto json = nlohmann::ordered_json::parse(R"({
        "messages": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi"},
                     {"role": "assistant", "content": "Hello <b>&amp;</b>"}],
        "tools": [{"name": "f", "parameters": {"x": [1, 2.5, null, true]}}],
        "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": true})");
    axle::jinja::Variables all;
    for (const auto& [name, value] : json.items())
      all.emplace_back(name, axle::jinja::Value::of_json(value));
    return all;
  }();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kData}, [&] {
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    axle::jinja::Template(source, "template").render(variables(), {}, 1700000000);
  });
  return 0;
}

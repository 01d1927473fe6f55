#include "recipes/use_data.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/carry.h"
#include "config/walk.h"
#include "data/synthetic_input.h"
#include "data/text_source.h"

namespace axle {
namespace {

void make_synthetic(Child<Input>& input, std::optional<int64_t> num_batches) {
  AnyConfig synthetic = AnyConfig::of(SyntheticInput::Config{.num_batches = num_batches});
  const std::vector<std::string> set_fields = {"num_batches"};
  if (input) carry_over(input.any(), synthetic, set_fields);
  input.put(std::move(synthetic));
}

int point_at(ConfigRef root, const std::string& path) {
  int sources = 0;
  for_each_config<TextSource>(root, [&](const std::string&, TextSource::Config& source) {
    source.path = path;
    ++sources;
  });
  return sources;
}

}  // namespace

void use_data(Trainer::Config& config, std::string_view data) {
  if (data == kSyntheticData) {
    make_synthetic(config.input, {});
    for (auto& [name, evaler] : config.evalers) make_synthetic(evaler.input, kSyntheticEvalBatches);
    return;
  }
  if (point_at(config.input, std::string(data)) == 0) {
    throw ConfigError(fmt::format(
        "--data {}: expected an input that reads text, got {}; say --set input=TextInput before it",
        data, config.input ? config.input.any().type().name : "none"));
  }
  for (auto& [name, evaler] : config.evalers) point_at(evaler.input, std::string(data));
}

}  // namespace axle

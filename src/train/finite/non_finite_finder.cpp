#include "train/finite/non_finite_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/stop_signal.h"
#include "lower/stablehlo.h"
#include "transform/simplify.h"
#include "transform/taps/non_finite.h"

namespace axle {

NonFiniteFinder::NonFiniteFinder(const Program& step, Runtime& runtime, CompileOptions options)
    : step_(step), runtime_(runtime), options_(std::move(options)) {
  const auto key = std::ranges::find(step_.inputs, "prng_key", &ProgramValue::name);
  AXLE_CHECK(key != step_.inputs.end(), "a step without a key");
  key_at_ = static_cast<size_t>(key - step_.inputs.begin());
}

void NonFiniteFinder::remember(const Arrays& arguments) {
  key_ = arguments.at(key_at_)->to_host();
  arguments_ = arguments;
}

void NonFiniteFinder::report(int64_t step, const Arrays& state, bool is_saved,
                             const std::function<void(const std::string&)>& note) const {
  std::optional<EndAtOnce> end;
  if (is_saved) end.emplace("\nstopped by a signal before the op was found; the state is saved\n");
  note(fmt::format("step {}: not finite; searching for the op that made the first NaN or infinity",
                   step));
  note(fmt::format("step {}: {}", step, find(state)));
}

std::string NonFiniteFinder::find(const Arrays& state) const {
  Arrays arguments = arguments_;
  std::ranges::copy(state, arguments.begin());
  arguments[key_at_] = runtime_.make_array(key_, step_.inputs[key_at_].sharding, step_.mesh);
  std::vector<ProgramValue> inputs = step_.inputs;
  for (ProgramValue& input : inputs) input.donated_to = -1;
  const RunRegion run = [&](const std::shared_ptr<const Region>& region) {
    std::vector<ProgramValue> outputs;
    for (const Tensor& t : region->results())
      outputs.push_back({fmt::format("value/{}", outputs.size()), t.type()});
    const Program program =
        lower(simplify(*region), "find_nan", inputs, std::move(outputs), step_.mesh);
    std::vector<HostTensor> out;
    for (const ArrayPtr& y : runtime_.compile(program, options_)->execute(arguments))
      out.push_back(y->to_host());
    return out;
  };
  try {
    const auto origin = find_non_finite(*step_.graph, run);
    return origin ? to_text(*origin)
                  : "no op was found: all numbers were finite when the step ran once more";
  } catch (const Error& error) {
    return fmt::format("no op was found, since the search failed: {}", error.what());
  }
}

}  // namespace axle

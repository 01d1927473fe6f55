#include "train/finite/non_finite_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/process_start.h"
#include "lower/stablehlo.h"
#include "transform/simplify.h"
#include "transform/taps/non_finite.h"

namespace axle {

NonFiniteFinder::NonFiniteFinder(const Program& step, Runtime& runtime, CompileOptions options)
    : step_(step), runtime_(runtime), options_(std::move(options)) {
  const auto is_donated = [](const ProgramValue& input) { return input.donated_to >= 0; };
  AXLE_CHECK(std::ranges::none_of(step_.inputs, is_donated), "a step that donates its arguments");
}

void NonFiniteFinder::report(int64_t step, bool is_saved,
                             const std::function<void(const std::string&)>& note) const {
  std::optional<EndAtOnce> end;
  if (is_saved) end.emplace("\nstopped by a signal before the op was found; the state is saved\n");
  note(fmt::format("step {}: not finite; searching for the op that made the first NaN or infinity",
                   step));
  note(fmt::format("step {}: {}", step, find()));
}

std::string NonFiniteFinder::find() const {
  const RunRegion run = [&](const std::shared_ptr<const Region>& region) {
    std::vector<ProgramValue> outputs;
    for (const Tensor& t : region->results())
      outputs.push_back({fmt::format("value/{}", outputs.size()), t.type()});
    const Program program =
        lower(simplify(*region), "find_nan", step_.inputs, std::move(outputs), step_.mesh);
    std::vector<HostTensor> out;
    for (const ArrayPtr& y : runtime_.compile(program, options_)->execute(arguments_))
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

#include "learn/schedule_values.h"

#include <algorithm>
#include <limits>

#include "config/walk.h"
#include "ir/eval.h"
#include "ir/host_tensor.h"
#include "transform/trace.h"

namespace axle {

double value_at(const Schedule& schedule, int64_t step) {
  const auto fn = [&](const Values& v) { return Values{schedule(Step(v[0]))}; };
  return eval(fn, {HostTensor::scalar(static_cast<int32_t>(step))})[0].at(0);
}

std::set<int32_t> probing_steps(const Schedule& schedule) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  std::set<int64_t> turns = {1};
  if (schedule.functor()) {
    walk(ConfigView(schedule.functor()), [&](const std::string& path, const Slot& slot) {
      const Slot field = unwrap(slot);
      const bool is_integer =
          field.ops->kind == FieldKind::kLeaf && field.ops->leaf == LeafKind::kInteger;
      if (is_integer && (path.ends_with("_step") || path.ends_with("_steps")))
        turns.insert(
            static_cast<int64_t>(std::clamp(field.ops->number(field.at), 1.0, 1.0 * kMax)));
    });
  }
  std::set<int32_t> out;
  int64_t before = 1;
  for (const int64_t turn : turns) {
    for (const int64_t step : {before + (turn - before) / 2, turn - 1, turn, turn + 1})
      out.insert(static_cast<int32_t>(std::clamp<int64_t>(step, 1, kMax)));
    before = turn;
  }
  return out;
}

}  // namespace axle

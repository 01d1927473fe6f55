#include "nn/param.h"

#include "base/hash.h"
#include "nn/invocation.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"
#include "transform/trace.h"

namespace axle {

PartitionSpec ParamSpec::partition() const { return {.dims = mesh_axes}; }

Tensor Param::operator()() const {
  if (*held_) {
    const auto working = Invocation::current().options().compute_dtype;
    return zeros((*held_)->dims, compute_.value_or(working.value_or((*held_)->dtype)));
  }
  const Tensor& stored = Invocation::current().parameter(path_);
  return compute_ && is_float(stored.dtype()) ? astype(stored, *compute_) : stored;
}

HostTensor draw_parameter(const std::string& path, const ParamSpec& spec, int64_t seed) {
  const auto fn = [&](const Values& x) {
    const random::Key key = random::Key::wrap(x[0]);
    return Values{spec.initialiser().draw(random::fold_in(key, md5_mod_2_31_minus_1(path)))};
  };
  return eval(fn, {random::key_words(seed)})[0];
}

}  // namespace axle

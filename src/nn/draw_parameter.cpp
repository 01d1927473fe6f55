#include "nn/draw_parameter.h"

#include "base/hash.h"
#include "ops/random/random.h"
#include "transform/trace.h"

namespace axle {

HostTensor draw_parameter(const std::string& path, const ParamSpec& spec, int64_t seed) {
  const auto fn = [&](const Values& x) {
    const random::Key key = random::Key::wrap(x[0]);
    return Values{spec.initialiser().draw(random::fold_in(key, md5_mod_2_31_minus_1(path)))};
  };
  return eval(fn, {random::key_words(seed)})[0];
}

}  // namespace axle

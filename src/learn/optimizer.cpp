#include "learn/optimizer.h"

#include "config/construction.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Tree<Tensor> Optimizer::gradient_point(const Tree<Tensor>& params, const Tree<Tensor>&) const {
  return params;
}

Tree<Tensor> Optimizer::measure(const MeasureInputs&) const { return {}; }

Tree<UpdateSize> update_sizes_of(const Tree<ParamSpec>& params, UpdateKind kind) {
  Tree<UpdateSize> out;
  for (const auto& [path, spec] : params) out.emplace(path, UpdateSize{.kind = kind});
  return out;
}

Descent::Descent(const Fields& fields, const Tree<ParamSpec>& params, const Scope& scope)
    : learning_rate_(fields.learning_rate), decay_factor_(fields.decay_factor) {
  attempt(scope, [&] { check_schedule(learning_rate_, field_path(scope, "learning_rate")); });
  if (fields.update_schedule) {
    update_schedule_ = *fields.update_schedule;
    attempt(scope, [&] { check_schedule(update_schedule_, field_path(scope, "update_schedule")); });
  }
  attempt(scope, [&] {
    decay_ = weight_decay_scales(params, fields.weight_decay_scales,
                                 field_path(scope, "weight_decay_scales"));
  });
  for (auto& [path, decay] : decay_) decay *= fields.weight_decay;
}

Descent::Factors Descent::at(const Tensor& step) const {
  Factors out{.rate = learning_rate_(step), .decay = {}};
  if (update_schedule_) out.rate = update_schedule_(step) * out.rate;
  const bool of_rate = decay_factor_ == DecayFactor::kLearningRate;
  if (of_rate || update_schedule_) out.decay = of_rate ? out.rate : update_schedule_(step);
  return out;
}

Tensor Descent::decayed(const Tensor& update, const std::string& path, const Tensor& param,
                        const Factors& factors) const {
  const double decay = decay_.at(path);
  if (decay == 0) return update;
  const Tensor weight = astype(param, DType::kF32);
  return update - weight * (factors.decay ? factors.decay * decay : scalar(decay));
}

Tensor Descent::along(const Tensor& direction, const std::string& path, const Tensor& param,
                      const Factors& factors) const {
  return decayed(direction * -factors.rate, path, param, factors);
}

}  // namespace axle

#include "layers/experts/capacity_dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "config/register.h"
#include "layers/experts/token_groups.h"
#include "layers/mesh_axes.h"
#include "nn/real_tokens.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/search.h"
#include "ops/movement/shape.h"
#include "ops/products/einsum.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// Layouts of tokens and of what experts get. Between them the axis `expert` moves from the groups
// to the experts, which is an all-to-all.
const PartitionSpec kGroupAxes = {{"data", DimAxes{"expert", "fsdp"}}};
const PartitionSpec kExpertAxes = {{"expert", "data", "fsdp"}};

// Returns, for each choice [N, K, S], its number among the choices of the same expert in its group:
// first choices count before second ones.
Tensor number_in_expert(const Tensor& chosen_NKSE) {
  const int64_t num_choices = chosen_NKSE.dim(1);
  const Tensor in_order = flatten(chosen_NKSE, 1, 2);
  const Tensor counts = unflatten(cumsum(in_order, 1), 1, {num_choices, -1});
  return reduce_sum(counts * chosen_NKSE, {3}) - 1;
}

}  // namespace

CapacityDispatch::CapacityDispatch(const Config& cfg, const Dims& dims, const Scope&)
    : cfg_(cfg), num_experts_(dims.num_experts) {}

int64_t CapacityDispatch::capacity(int64_t num_tokens, int64_t num_choices) const {
  const InvocationOptions& options = Invocation::current().options();
  if (options.decoding) return num_tokens;
  const auto& factor = options.training ? cfg_.train_capacity_factor : cfg_.eval_capacity_factor;
  const double choices = factor ? static_cast<double>(*factor) : static_cast<double>(num_choices);
  const double mean = static_cast<double>(num_tokens) * choices / static_cast<double>(num_experts_);
  const int64_t least = std::max<int64_t>(cfg_.min_capacity, 1);
  if (mean >= static_cast<double>(num_tokens)) return num_tokens;
  return std::min(num_tokens, std::max(least, static_cast<int64_t>(mean)));
}

// The number of tokens is known to the program alone. It finds its capacity among the numbers of
// tokens at which the capacity grows.
Tensor CapacityDispatch::capacities(const Tensor& tokens_N, int64_t group_size,
                                    int64_t num_choices) const {
  std::vector<int32_t> steps;
  for (int64_t n = 1; n <= group_size; ++n) {
    const auto own = static_cast<size_t>(capacity(n, num_choices));
    if (own > steps.size()) steps.resize(own, static_cast<int32_t>(n));
  }
  HostTensor table(Type{DType::kI32, {std::ssize(steps)}});
  std::ranges::copy(steps, table.values<int32_t>().begin());
  return searchsorted(constant(table), tokens_N, SearchSide::kRight);
}

Dispatched CapacityDispatch::run(const Tensor& x_BTD, const Routing& routing,
                                 const Experts& experts) const {
  // N = O * G groups.
  const InvocationOptions& options = Invocation::current().options();
  const GroupBorders borders = options.decoding
                                   ? GroupBorders::kTokens
                                   : borders_of_call(cfg_.train_borders, options.training);
  const TokenGroups tokens(x_BTD, options.decoding ? 1 : num_groups(),
                           real_tokens(routing.experts_BTK), borders);
  const int64_t groups = tokens.count(), group_size = tokens.size();
  const int64_t outer_groups = std::gcd(groups, static_cast<int64_t>(cfg_.outer_batch));
  const Shape split = {outer_groups, groups / outer_groups};
  const int64_t num_choices = routing.experts_BTK.dim(2);
  const int64_t size = capacity(group_size, num_choices);

  const auto by_choice = [&](const Tensor& t_BTK) {
    return swap_axes(tokens.divided(t_BTK), 1, 2);
  };
  const std::optional<Tensor>& is_real = tokens.is_real();
  Tensor chosen_NKSE = one_hot(by_choice(routing.experts_BTK), num_experts_, DType::kI32);
  if (is_real) {
    const Tensor real_N1S1 = reshape(*is_real, {groups, 1, group_size, 1});
    chosen_NKSE = select(broadcast_to(real_N1S1, chosen_NKSE.shape()), chosen_NKSE, 0);
  }
  Tensor number_NKS = number_in_expert(chosen_NKSE);  // -1 for padding
  Tensor dropped_NKS = number_NKS >= static_cast<double>(size), dropped_K;
  if (is_real) {
    const Tensor tokens_N = reduce_sum(astype(*is_real, DType::kI32), {1});
    if (size < group_size) {
      const Tensor size_N = capacities(tokens_N, group_size, num_choices);
      dropped_NKS = number_NKS >= reshape(size_N, {groups, 1, 1});
      number_NKS = select(dropped_NKS, size, number_NKS);
    }
    dropped_K = reduce_sum(astype(dropped_NKS, DType::kF32), {0, 2}) /
                maximum(astype(sum(tokens_N), DType::kF32), 1);
  } else {
    dropped_K = mean(astype(dropped_NKS, DType::kF32), {0, 2});
  }
  const Tensor slot_NKSC = one_hot(number_NKS, size);  // zeros for those that are dropped
  const Tensor expert_NKSE = astype(chosen_NKSE, DType::kF32);
  const Tensor weight_NKSE = expert_NKSE * expand_dims(by_choice(routing.weights_BTK), 3);

  const auto outer = [&](const Tensor& t) {  // splits N
    return sharding_constraint(unflatten(t, 0, split), kGroupAxes);
  };
  const DType dtype = x_BTD.dtype();
  const Tensor dispatch_OGSEC =
      outer(astype(einsum("nkse,nksc->nsec", expert_NKSE, slot_NKSC), dtype));
  const Tensor combine_OGSEC =
      outer(astype(einsum("nkse,nksc->nsec", weight_NKSE, slot_NKSC), dtype));
  const Tensor x_OGSD = outer(tokens.divided(x_BTD));
  const Tensor in_EOGCD =
      sharding_constraint(einsum("ogsec,ogsd->eogcd", dispatch_OGSEC, x_OGSD), kExpertAxes);
  const Tensor out_EOGCD = sharding_constraint(experts(in_EOGCD, std::nullopt), kExpertAxes);
  const Tensor y_OGSD =
      sharding_constraint(einsum("ogsec,eogcd->ogsd", combine_OGSEC, out_EOGCD), kGroupAxes);
  return {.y_BTD = tokens.joined(flatten(y_OGSD, 0, 1)), .dropped_K = dropped_K};
}

AXLE_REGISTER(CapacityDispatch)

}  // namespace axle

#include "layers/experts/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "config/register.h"
#include "layers/experts/router.h"
#include "layers/mesh_axes.h"
#include "nn/statistic.h"
#include "ops/annotate.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/shard_map/shard_map.h"

namespace axle {
namespace {

// Letters in tensor names:
//   B batch   T positions   D model dim   E experts   K choices of a token   X any dims
//   O outer batch   G groups in each of them   N = O * G groups   S tokens of a group
//   C capacity of an expert

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

namespace {

Tensor rows(const Tensor& t_BTX) { return flatten(t_BTX, 0, 1); }

}  // namespace

Dispatched SortedDispatch::run(const Tensor& x_BTD, const Routing& routing,
                               const Experts& experts) const {
  return {.y_BTD = on_devices(x_BTD, routing, experts)};
}

Tensor SortedDispatch::on_devices(const Tensor& x_BTD, const Routing& routing,
                                  const Experts& experts) const {
  Invocation& outer = Invocation::current();
  const Mesh& mesh = outer.options().mesh;
  const PartitionSpec tokens = restrict(kTokenAxes, x_BTD.shape(), mesh);
  const DimAxes expert_axes = restrict(PartitionSpec{{"expert"}}, mesh).dims[0];

  ShardMapOptions map{.mesh = mesh, .in_specs = {tokens, tokens, tokens}, .out_specs = {tokens}};
  for (const std::string& axis : expert_axes) map.axes.push_back(axis);
  for (const DimAxes& dim : tokens.dims) {
    for (const std::string& axis : dim) {
      if (std::ranges::count(map.axes, axis) == 0) map.axes.push_back(axis);
    }
  }
  Values arguments{x_BTD, routing.experts_BTK, routing.weights_BTK};
  for (const std::string& path : experts.parameters) {
    arguments.push_back(outer.parameter(path));
    map.in_specs.push_back({{expert_axes}});
  }
  const auto of_device = [&](const Values& v) {
    Tree<Tensor> parameters;
    for (size_t i = 0; i < experts.parameters.size(); ++i)
      parameters.emplace(experts.parameters[i], v[3 + i]);
    const Invocation inner(outer.path(), std::move(parameters), outer.nested_options());
    const Tensor y_ND =
        run_sorted_over(expert_axes, rows(v[0]), rows(v[1]), rows(v[2]), experts, num_experts_);
    return Values{reshape(y_ND, v[0].shape())};
  };
  if (map.axes.empty()) {
    const Tensor y_ND = run_sorted(rows(x_BTD), rows(routing.experts_BTK),
                                   rows(routing.weights_BTK), experts, num_experts_);
    return reshape(y_ND, x_BTD.shape());
  }
  return shard_map(of_device, arguments, map)[0];
}

AXLE_REGISTER(SortedDispatch)

// Letters in tensor names from here on:
//   N tokens   K choices of a token   D model dim   M = K * N choices   E experts   P devices
//   L experts of a device   R rows that a device can receive

namespace {

const GatherOptions kPermutation = {.mode = GatherMode::kPromiseInBounds, .unique_indices = true};

// Returns how many choices fall on each expert: i32[M] -> i32[E].
Tensor sizes_of(const Tensor& experts_M, int64_t num_experts) {
  return reduce_sum(one_hot(experts_M, num_experts, DType::kI32), {0});
}

// Returns the sum of the elements before each one.
Tensor sum_before(const Tensor& x, int64_t axis) { return cumsum(x, axis) - x; }

// Sorts choices by expert, runs the experts by `run` and sums the results of each token. Choices
// are numbered k * N + n, so that the sum over a token's choices adds whole blocks.
Tensor run_in_order(const Tensor& x_ND, const Tensor& experts_NK, const Tensor& weights_NK,
                    int64_t num_experts,
                    const std::function<Tensor(const Tensor& x_MD, const Tensor& sizes_E)>& run) {
  const int64_t num_choices = experts_NK.dim(1);
  const Tensor experts_M = flatten(swap_axes(experts_NK, 0, 1));
  const Tensor order_M = argsort(experts_M), place_M = argsort(order_M);
  const Tensor token_M = remainder(order_M, full_like(order_M, x_ND.dim(0)));
  const Tensor in_MD = take(x_ND, token_M, 0, {.mode = GatherMode::kPromiseInBounds});
  const Tensor out_MD = run(in_MD, sizes_of(experts_M, num_experts));
  const Tensor out_KND = unflatten(take(out_MD, place_M, 0, kPermutation), 0, {num_choices, -1});
  const Tensor y_ND =
      einsum("knd,kn->nd", astype(out_KND, DType::kF32), swap_axes(weights_NK, 0, 1));
  return astype(y_ND, x_ND.dtype());
}

// The rows that devices send each other. A device holds its rows sorted by expert, so that the rows
// for one device lie together; what it receives is sorted by the sending device, then by expert.
class Exchange {
 public:
  // sizes_E counts the rows of this device for each expert.
  Exchange(const DimAxes& axes, const Tensor& sizes_E)
      : axes_(axes), rank_(axis_index(axes)), num_devices_(axis_size(axes)) {
    const int64_t own_experts = sizes_E.dim(0) / num_devices_;
    const Tensor sizes_PPL =
        unflatten(all_gather(expand_dims(sizes_E, 0), axes, 0), 1, {num_devices_, own_experts});
    received_PL_ = dynamic_index_in_dim(sizes_PPL, rank_, 1);
    const Tensor rows_PP = reduce_sum(sizes_PPL, {2});  // [from, to]
    const Tensor in_sender = sum_before(rows_PP, 1), in_receiver = sum_before(rows_PP, 0);
    const auto sent = [&](const Tensor& t_PP) { return dynamic_index_in_dim(t_PP, rank_, 0); };
    const auto received = [&](const Tensor& t_PP) { return dynamic_index_in_dim(t_PP, rank_, 1); };
    there_ = {.input_offsets = sent(in_sender),
              .send_sizes = sent(rows_PP),
              .output_offsets = sent(in_receiver),
              .recv_sizes = received(rows_PP)};
    back_ = {.input_offsets = received(in_receiver),
             .send_sizes = received(rows_PP),
             .output_offsets = received(in_sender),
             .recv_sizes = sent(rows_PP)};
  }

  // Runs the experts of this device on the rows of all devices, at most `capacity`.
  Tensor run(const Tensor& x_MD, int64_t capacity, const Experts& experts) const {
    const auto rows = [&](int64_t n, DType dtype) { return zeros({n, x_MD.dim(1)}, dtype); };
    const Tensor x_RD = ragged_all_to_all(x_MD, rows(capacity, x_MD.dtype()), there_, axes_);
    // Rows that nobody has sent count for the last expert; their results are not sent back.
    const int64_t own_experts = received_PL_.dim(1);
    const Tensor run_R =
        searchsorted(cumsum(flatten(received_PL_), 0), iota({capacity}, 0), SearchSide::kRight);
    const Tensor expert_R =
        select(run_R < num_devices_ * own_experts, remainder(run_R, full_like(run_R, own_experts)),
               full_like(run_R, own_experts - 1));
    const Tensor order_R = argsort(expert_R), place_R = argsort(order_R);
    const Tensor y_RD =
        experts(take(x_RD, order_R, 0, kPermutation), sizes_of(expert_R, own_experts));
    return ragged_all_to_all(take(y_RD, place_R, 0, kPermutation), rows(x_MD.dim(0), y_RD.dtype()),
                             back_, axes_);
  }

 private:
  const DimAxes& axes_;
  Tensor rank_;
  int64_t num_devices_;
  Tensor received_PL_;  // rows of each expert of this device, by the device that sends them
  RaggedSlices there_, back_;
};

}  // namespace

Tensor run_sorted(const Tensor& x_ND, const Tensor& experts_NK, const Tensor& weights_NK,
                  const Experts& experts, int64_t num_experts) {
  return run_in_order(
      x_ND, experts_NK, weights_NK, num_experts,
      [&](const Tensor& x_MD, const Tensor& sizes_E) { return experts(x_MD, sizes_E); });
}

Tensor run_sorted_over(const DimAxes& axes, const Tensor& x_ND, const Tensor& experts_NK,
                       const Tensor& weights_NK, const Experts& experts, int64_t num_experts) {
  const int64_t num_devices = axis_size(axes);
  if (num_devices == 1) return run_sorted(x_ND, experts_NK, weights_NK, experts, num_experts);
  // The experts of a token are all different.
  const int64_t of_a_token = std::min(experts_NK.dim(1), num_experts / num_devices);
  const int64_t capacity = num_devices * x_ND.dim(0) * of_a_token;
  return run_in_order(x_ND, experts_NK, weights_NK, num_experts,
                      [&](const Tensor& x_MD, const Tensor& sizes_E) {
                        return Exchange(axes, sizes_E).run(x_MD, capacity, experts);
                      });
}

}  // namespace axle

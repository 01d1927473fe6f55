// Splits a region into a forward and a backward part. scan, cond, remat, call and shard_map do so
// when they are differentiated.
//
// The joint region computes the primal results and, from their cotangents, the cotangents of the
// inputs. Each op has the phase in which it was emitted. The cut follows the phase, not the
// dependence on cotangents: the ops that an inner remat recomputes do not depend on cotangents, but
// must stay in the backward part.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {

/// The forward ops and the pullback of a region, joined in one region. Its parameters are those of
/// the original region, then one cotangent for each entry of cotangent_of. Its results are those of
/// the original region, then the input cotangents.
struct Joint {
  std::shared_ptr<Region> region;
  size_t num_parameters = 0;         // of the original region
  size_t num_results = 0;            // of the original region
  std::vector<size_t> cotangent_of;  // for each cotangent parameter: index of its result
  // For each parameter: the index of its cotangent among the results of `region`, -1 for none.
  std::vector<int> input_cotangent;
};

/// Makes the joint region of `region`. `active` marks the differentiated parameters, `wants` the
/// results that may have a cotangent. Parameters marked in `force` always get an input cotangent,
/// zeros if they have no influence. Results marked in `force_results` always take a cotangent, also
/// if they depend on no differentiated parameter.
Joint make_joint(const Region& region, const std::vector<bool>& active,
                 const std::vector<bool>& wants, const std::vector<bool>& force = {},
                 const std::vector<bool>& force_results = {});

/// Returns the forward values that the backward part reads, in order of definition. Parameters that
/// it needs are always among them. Without a policy, all values except those of cheap ops are kept.
Values residuals(const Joint& joint, const ResidualPolicy& policy);

/// Returns the forward values that backward ops of a program read, in order of definition, with the
/// parameters that they read. In place of the result of a cheap op it lists the op's operands.
Values read_by_backward(const Region& region);

/// Maps the operand of each kept name(x, tag) of the forward pass to its result, which has the same
/// value. Whatever needs the operand reads the kept result.
ValueMap<Tensor> kept_names(const Region& region, const ResidualPolicy& policy);

/// Which ops with an effect (ir/tensor.h) a slice keeps. Each half of a joint region keeps those of
/// its phase, so that a tap in recomputed ops reports once.
enum class Effects { kAll, kForward, kBackward, kNone };

/// Returns a new closed region that computes `results` from `inputs`, both values of `region`. An
/// input that is the result of name(x, tag) also stands for x, which has the same value. The ops
/// with an effect that it keeps must need only `inputs`. With kAll ops keep their phases; else the
/// slice is a half, whose ops are of the forward phase.
std::shared_ptr<Region> slice_region(const Region& region, const Values& inputs,
                                     const Values& results, Effects effects = Effects::kAll);

/// The two halves of a joint region, for ops that run each half once:
///   forward(parameters) -> results ++ saved
///   backward(needed parameters ++ saved ++ cotangents) -> input cotangents that exist
struct Halves {
  Joint joint;
  Values saved;                    // saved values of the joint region, without parameters
  std::vector<Residual> saved_as;  // for each: kSave or kOffload
  std::vector<size_t> needed;      // indices of the parameters that the backward half reads
  std::shared_ptr<Region> forward, backward;
};
/// Splits a joint region into its halves, with the residuals that the policy keeps, also inside of
/// the regions of its ops (divide_ops).
Halves split(Joint joint, const ResidualPolicy& policy);

/// Returns the results of the backward half by parameter: none for parameters without a cotangent.
Values spread_input_cotangents(const Joint& joint, const Values& computed);
/// Selects the cotangents that the joint region takes from those of all results. Missing ones
/// become zeros.
Values gather_cotangents(const Joint& joint, const Values& cotangents);

/// Returns one line for each value that differentiation of `fn` keeps for the backward pass: its
/// type, op or name, and layer path.
std::string explain_residuals(const std::function<Values(const Values&)>& fn,
                              const std::vector<Type>& types);

/// Returns a joint region that computes the same. Each forward op in whose regions the policy keeps
/// a value becomes two ops: a forward one that returns the value too, and a backward one that reads
/// it and recomputes the rest. What depends on such an op is recomputed by backward ops.
/// Adds the values that the forward ops return to `kept`.
Joint divide_ops(Joint joint, const ResidualPolicy& policy, ValueMap<Residual>& kept);

/// Divides a region that has no backward ops:
///   forward(parameters) -> results ++ saved
///   backward(needed parameters ++ saved) -> results marked in `used`
Halves divide_region(const Region& region, const std::vector<bool>& used,
                     const ResidualPolicy& policy);

/// An op of which a policy keeps values inside of its regions: loops, branches, calls, shard_maps,
/// other remats. The forward part of a program runs `forward`, the backward part runs `again`.
///
/// Source: JAX's partial evaluation of scan with a policy, jax/_src/lax/control_flow/loops.py.
struct Divided {
  /// Emits the op with more results. Takes its inputs. Returns its results, then the kept values.
  std::function<Values(const Values& inputs)> forward;
  std::vector<Residual> kept;  // for each kept value: kSave or kOffload
  std::vector<bool> inputs;    // the inputs that `again` needs
  /// Recomputes results of the op. Takes the needed inputs, in order, and the kept values.
  /// Returns one tensor for each result of the op, empty ones for those that are not used.
  std::function<Values(const Values& inputs, const Values& kept)> again;
};
/// Divides an op with regions. `used` marks the results that are recomputed. A loop stacks what
/// it keeps. Branches share the results in which they return what they keep. Returns none if the
/// policy keeps nothing in the regions that these results need.
std::optional<Divided> divide(const OpNode& op, const std::vector<bool>& used,
                              const ResidualPolicy& policy);

}  // namespace axle

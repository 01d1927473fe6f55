#include "layers/products/outside_products.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "layers/products/product.h"
#include "transform/bodies.h"

namespace axle {
namespace {

// What a value is computed from.
struct Origin {
  bool has_input = false;
  std::set<size_t> weights = {};  // indices of parameters; empty if has_input

  // Returns true if this origin changed.
  bool join(const Origin& other) {
    if (has_input) return false;
    if (other.has_input) {
      *this = {.has_input = true};
      return true;
    }
    const size_t before = weights.size();
    weights.insert(other.weights.begin(), other.weights.end());
    return weights.size() > before;
  }
};

class Origins {
 public:
  Origins(const Region& call, size_t num_weights) {
    std::vector<Origin> parameters;
    for (size_t i = 0; i < call.parameters().size(); ++i)
      parameters.push_back(i < num_weights ? Origin{.weights = {i}} : Origin{.has_input = true});
    follow(call, parameters);
  }
  const Origin& at(const Tensor& value) const { return of_.at(value); }

 private:
  // Returns the origins of the results of a region.
  std::vector<Origin> follow(const Region& region, const std::vector<Origin>& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) of_[region.parameters()[i]] = parameters[i];
    for (const OpNode* const op : region.ops()) {
      std::vector<Origin> operands;
      for (const Tensor& input : op->inputs) operands.push_back(at(input));
      std::vector<Origin> results(op->outputs.size());
      if (op->regions.empty()) {
        for (Origin& result : results) {
          for (const Origin& operand : operands) result.join(operand);
        }
      } else {
        const BodyFlow flow = flow_of(*op);
        through_trips(
            flow, operands,
            [&](size_t r, const std::vector<Origin>& of_parameters) {
              std::vector<Origin> own = follow(op->region(r), of_parameters);
              const std::vector<Port>& ports = flow.regions[r].results;
              for (size_t i = 0; i < ports.size(); ++i) results[ports[i].at].join(own[i]);
              return own;
            },
            [](std::vector<Origin>& all, size_t i, const Origin& more) {
              return all[i].join(more);
            });
      }
      for (uint32_t i = 0; i < results.size(); ++i) of_[op->result(i)] = std::move(results[i]);
    }
    std::vector<Origin> out;
    for (const Tensor& result : region.results()) out.push_back(at(result));
    return out;
  }

  std::unordered_map<Tensor, Origin, TensorHash, TensorSame> of_;
};

void for_each_op(const Region& region, const std::function<void(const OpNode&)>& fn) {
  for (const OpNode* op : region.ops()) {
    fn(*op);
    for (const auto& body : op->regions) for_each_op(*body, fn);
  }
}

}  // namespace

Tree<WeightUseSite> weights_outside_products(const Layer& root, const Region& call,
                                             std::span<const std::string> paths) {
  std::set<std::string> products;
  root.visit([&](const Layer& layer) {
    if (dynamic_cast<const Product*>(&layer)) products.insert(layer.path());
  });
  const auto is_in_product = [&](const std::string& layer) {
    if (products.contains(layer)) return true;
    for (size_t at = layer.rfind('/'); at != std::string::npos && at > 0;
         at = layer.rfind('/', at - 1)) {
      if (products.contains(layer.substr(0, at))) return true;
    }
    return false;
  };
  const Origins origins(call, paths.size());
  Tree<WeightUseSite> out;
  for_each_op(call, [&](const OpNode& op) {
    if (!op.rules->row().traits.is_product) return;
    const std::string layer = op.scope ? *op.scope : std::string();
    if (is_in_product(layer)) return;
    for (const Tensor& operand : op.inputs) {
      if (operand.rank() < 2) continue;
      for (const size_t weight : origins.at(operand).weights)
        out.try_emplace(paths[weight], WeightUseSite{layer, std::string(op.rules->name())});
    }
  });
  return out;
}

}  // namespace axle

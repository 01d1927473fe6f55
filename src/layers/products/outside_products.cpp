#include "layers/products/outside_products.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "layers/products/product.h"
#include "transform/regions.h"

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
    const Values& parameters = call.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      Origin& origin = of_[parameters[i]];
      if (i < num_weights)
        origin.weights = {i};
      else
        origin.has_input = true;
    }
    // Carries of loops may need several rounds.
    do {
      has_changed_ = false;
      visit(call);
    } while (has_changed_);
  }
  // A value of no region that ran is computed from nothing.
  const Origin& at(const Tensor& value) const {
    static const Origin none;
    const auto found = of_.find(value);
    return found == of_.end() ? none : found->second;
  }

 private:
  void join(const Tensor& to, const Tensor& from) {
    if (of_[to].join(at(from))) has_changed_ = true;
  }

  void visit(const Region& region) {
    for (const OpNode* const op : region.ops()) {
      for (size_t r = 0; r < op->regions.size(); ++r) enter(*op, r);
      const bool has_bodies = !op->regions.empty();
      for (uint32_t i = 0; i < op->outputs.size(); ++i) {
        const bool is_known = has_bodies && join_results(*op, i);
        if (is_known) continue;
        for (const Tensor& input : op->inputs) join(op->result(i), input);
      }
    }
  }

  void enter(const OpNode& op, size_t r) {
    const Region& body = op.region(r);
    const Values& parameters = body.parameters();
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (op.rules->row().source == nullptr) {
        for (const Tensor& input : op.inputs) join(parameters[p], input);
        continue;
      }
      // The first run reads operands, a later one what the run before it returned. Loops may run
      // backwards.
      const int64_t last = runs_of_regions(op)[r].count.value_or(2) - 1;
      for (const int64_t run : std::set<int64_t>{0, std::min<int64_t>(1, last), last}) {
        if (run >= 0) join(parameters[p], op.rules->row().source(op, {r, run}, p).value);
      }
    }
    visit(body);
  }

  // Regions with the op's number of results return its results. False if no region does.
  bool join_results(const OpNode& op, uint32_t i) {
    bool is_known = false;
    for (const auto& body : op.regions) {
      if (body->results().size() != op.outputs.size()) continue;
      join(op.result(i), body->results()[i]);
      is_known = true;
    }
    return is_known;
  }

  std::unordered_map<Tensor, Origin, TensorHash, TensorSame> of_;
  bool has_changed_ = false;
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
    if (!op.rules->row().is_product) return;
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

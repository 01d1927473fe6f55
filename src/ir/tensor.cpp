#include "ir/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>

#include "base/error.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {
namespace {

thread_local Region* g_region = nullptr;
thread_local const std::string* g_scope = nullptr;
thread_local Phase g_phase = Phase::kForward;

const std::string* intern(std::string_view text) {
  static std::mutex mutex;
  // Leaked: graphs may outlive every static.
  static auto* const names = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  auto it = names->find(text);
  if (it == names->end()) it = names->emplace(text).first;
  return &*it;
}

// Owns the memory of all nodes. The nodes that a region returns serve later regions, with a
// higher `generation`.
class NodePool {
 public:
  static NodePool& instance() {
    static auto* const pool = new NodePool;  // leaked: graphs may outlive every static
    return *pool;
  }
  OpNode* get() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      // For all nodes: a region that dies while memory runs out must not allocate.
      if (free_.capacity() <= nodes_.size()) free_.reserve(2 * nodes_.size() + 1);
      return &nodes_.emplace_back();
    }
    OpNode* const node = free_.back();
    free_.pop_back();
    return node;
  }
  void take_back(const std::vector<OpNode*>& nodes) noexcept {
    // Not under the lock: a node may hold the last reference to a region, whose destructor returns
    // its own nodes.
    for (OpNode* node : nodes) {
      const uint32_t next_generation = node->generation + 1;
      const OpOrigin origin = *node;
      *node = OpNode{};
      node->previous = origin;
      node->generation = next_generation;
    }
    const std::lock_guard lock(mutex_);
    free_.insert(free_.end(), nodes.begin(), nodes.end());
  }

 private:
  std::mutex mutex_;
  std::deque<OpNode> nodes_;
  std::vector<OpNode*> free_;
};

// As many dims as a tensor of NumPy or PyTorch can have. XLA's time to compile an op grows with the
// square of its dims: 0.1 s for 100, 18 s for 5,000.
constexpr size_t kMaxDims = 64;

// Returns what is wrong with the type of a tensor; "" if nothing is.
std::string size_problem(const Type& type) {
  if (type.dims.size() > kMaxDims)
    return fmt::format("expected at most {} dims, got {}", kMaxDims, type.dims.size());
  if (std::ranges::any_of(type.dims, [](int64_t size) { return size < 0; }))
    return fmt::format("expected sizes of at least 0, got {}", to_text(type));
  return is_countable(type.dims) ? "" : too_large_text(type);
}

// "decoder/emb (gather at src/layers/embedding.cpp:31)"
std::string text(const OpOrigin& origin) {
  const std::string line = source_line(origin.calls);
  return fmt::format("{} ({}{}{})", origin.scope ? *origin.scope : "the top level",
                     origin.rules ? origin.rules->row().name : "parameter",
                     line.empty() ? "" : " at ", line);
}

[[noreturn]] void fail_leaked_tensor(std::string_view what) {
  const std::string line = source_line(current_call_site());
  throw InternalError(
      fmt::format("{}{}{}: a tensor leaked out of the trace that made it, got {}; return it from "
                  "the traced function instead",
                  g_scope ? *g_scope : "trace", line.empty() ? "" : " at ", line, what));
}

}  // namespace

const Type& Tensor::type() const {
  const OpNode* const op = node();
  AXLE_CHECK(op, "the type of an empty Tensor");
  return op->outputs[index_];
}

int64_t Tensor::dim(int64_t i) const {
  const int64_t r = rank();
  AXLE_CHECK(i < r && i >= -r, fmt::format("dim {} of {}", i, to_text(type())));
  return shape()[i < 0 ? i + r : i];
}

std::vector<Type> types_of(const Values& values) {
  std::vector<Type> out;
  for (const Tensor& t : values) out.push_back(t.type());
  return out;
}

bool Tensor::is_parameter() const { return node()->rules == nullptr; }

Values OpNode::results() const {
  Values out;
  for (uint32_t i = 0; i < outputs.size(); ++i) out.push_back(result(i));
  return out;
}

void fail_ended_trace(const OpNode& node, uint32_t generation) {
  const bool is_known = node.generation == generation + 1;
  fail_leaked_tensor(is_known ? fmt::format("one of {}, whose trace is over", text(node.previous))
                              : "one whose trace is over");
}

Region::~Region() {
  if (!owned_.empty()) NodePool::instance().take_back(owned_);  // else there may be no pool yet
}

OpNode* Region::new_node() {
  OpNode* node = NodePool::instance().get();
  owned_.push_back(node);
  node->parent = this;
  node->id = static_cast<uint32_t>(owned_.size());
  node->scope = g_scope;
  node->calls = current_call_site();
  node->phase = g_phase;
  return node;
}

Tensor Region::add_parameter(Type type, std::string_view name) {
  if (const std::string problem = size_problem(type); !problem.empty())
    throw ShapeError(fmt::format("{}: {}", name.empty() ? "argument" : name, problem));
  OpNode* node = new_node();
  node->outputs = {std::move(type)};
  node->scope = name.empty() ? g_scope : intern(name);
  node->phase = Phase::kForward;
  parameters_.push_back(node->result());
  return node->result();
}

void Region::name_parameter(const Tensor& parameter, std::string_view name) {
  owned_[parameter.node()->id - 1]->scope = intern(name);
}

OpNode* Region::append(const OpRules& rules, Values inputs,
                       std::shared_ptr<const Attributes> attributes,
                       std::vector<std::shared_ptr<const Region>> regions) {
  for (Tensor& t : inputs) t = use(t);
  OpNode* node = new_node();
  node->rules = &rules;
  node->inputs = std::move(inputs);
  node->attributes = std::move(attributes);
  node->regions = std::move(regions);
  node->outputs = rules.row().infer(*node);
  for (const Type& type : node->outputs) {
    if (const std::string problem = size_problem(type); !problem.empty())
      shape_error(*node, problem);
  }
  ops_.push_back(node);
  return node;
}

void Region::set_results(Values results) {
  for (Tensor& t : results) t = use(t);
  results_ = std::move(results);
}

Tensor Region::use(const Tensor& t) {
  AXLE_CHECK(t, "an empty Tensor was used as an operand");
  if (t.node()->parent == this) return t;
  if (const auto it = capture_of_.find(t); it != capture_of_.end()) return it->second;
  if (!outer_) fail_leaked_tensor(describe(t));
  const Tensor outside = outer_->use(t);
  if (const auto it = capture_of_.find(outside); it != capture_of_.end()) {
    capture_of_.emplace(t, it->second);
    return it->second;
  }
  const Tensor inside =
      add_parameter(outside.type(), outside.node()->scope ? *outside.node()->scope : "");
  owned_.back()->calls = outside.node()->calls;
  captures_.emplace_back(outside, inside);
  capture_of_.emplace(outside, inside);
  capture_of_.emplace(t, inside);
  return inside;
}

Values Region::close() {
  Values outside, parameters;
  ValueSet captured;
  for (const auto& [out, in] : captures_) {
    outside.push_back(out);
    parameters.push_back(in);
    captured.insert(in);
  }
  for (const Tensor& p : parameters_) {
    if (!captured.contains(p)) parameters.push_back(p);
  }
  parameters_ = std::move(parameters);
  captures_.clear();
  capture_of_.clear();
  outer_ = nullptr;
  return outside;
}

void Region::remove_dead_ops() {
  std::vector<bool> live(num_nodes() + 1, false);  // by id
  for (const Tensor& t : results_) live[t.node()->id] = true;
  for (auto it = ops_.rbegin(); it != ops_.rend(); ++it) {
    if (!live[(*it)->id] && !has_effect(**it)) continue;
    live[(*it)->id] = true;
    for (const Tensor& t : (*it)->inputs) live[t.node()->id] = true;
  }
  std::erase_if(ops_, [&](const OpNode* op) { return !live[op->id]; });
}

TraceScope::TraceScope(Region& region) : saved_(std::exchange(g_region, &region)) {}
TraceScope::~TraceScope() { g_region = saved_; }
Region& TraceScope::current() {
  if (!g_region)
    throw InternalError(
        "an op was called outside a trace; call it inside trace(), grad() or eval()");
  return *g_region;
}

// A layer that is the root of its tree has no path: its ops are at the top level.
NameScope::NameScope(std::string_view path)
    : saved_(std::exchange(g_scope, path.empty() ? nullptr : intern(path))) {}
NameScope::~NameScope() { g_scope = saved_; }
const std::string* NameScope::current() { return g_scope; }

OriginScope::OriginScope(const OpNode& op)
    : saved_(std::exchange(g_scope, op.scope)), calls_(op.calls) {}
OriginScope::~OriginScope() { g_scope = saved_; }

PhaseScope::PhaseScope(Phase phase) : saved_(std::exchange(g_phase, phase)) {}
PhaseScope::~PhaseScope() { g_phase = saved_; }

Values emit_all(const OpRules& rules, Values inputs, std::shared_ptr<const Attributes> attributes,
                std::vector<std::shared_ptr<const Region>> regions) {
  return TraceScope::current()
      .append(rules, std::move(inputs), std::move(attributes), std::move(regions))
      ->results();
}

Tensor emit(const OpRules& rules, Values inputs, std::shared_ptr<const Attributes> attributes) {
  return TraceScope::current()
      .append(rules, std::move(inputs), std::move(attributes), {})
      ->result();
}

std::string describe(const Tensor& t) {
  if (!t) return "nothing";
  return fmt::format("{} of {}", to_text(t.type()), text(*t.node()));
}

bool has_effect(const OpNode& op) {
  if (dynamic_cast<const EffectAttributes*>(op.attributes.get())) return true;
  return std::ranges::any_of(op.regions, [](const auto& region) { return has_effect(*region); });
}

bool has_effect(const Region& region) {
  return std::ranges::any_of(region.ops(), [](const OpNode* op) { return has_effect(*op); });
}

bool Scalar::fits(DType dtype) const {
  if (dtype == DType::kPred) return std::visit([](auto v) { return v == 0 || v == 1; }, value_);
  if (!is_integer(dtype)) return true;
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<Computed<T>> && !std::is_same_v<T, bool>) {
      using Range = IntegerRange<T>;
      if (const auto* const v = std::get_if<double>(&value_)) {
        // The largest integer may be rounded up as a double. One more than it is a power of two,
        // which a double holds exactly.
        constexpr double kEnd = 2 * (static_cast<double>(Range::kMax / 2) + 1);
        return *v == std::floor(*v) && *v >= static_cast<double>(Range::kMin) && *v < kEnd;
      }
      const auto in_range = [](auto v) {
        return std::cmp_greater_equal(v, Range::kMin) && std::cmp_less_equal(v, Range::kMax);
      };
      if (const auto* const v = std::get_if<uint64_t>(&value_)) return in_range(*v);
      return in_range(std::get<int64_t>(value_));
    }
    return true;
  });
}

std::string Scalar::text() const {
  // The default format of doubles has the fewest digits from which they can be read back.
  return std::visit([](auto v) { return fmt::format("{}", v); }, value_);
}

}  // namespace axle

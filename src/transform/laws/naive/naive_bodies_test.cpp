// References of ops with a body and of collectives: the body is run by the references of its ops,
// for a shard_map on all devices in step.
#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "transform/control_flow/loop_ops.h"
#include "transform/laws/naive_test.h"
#include "transform/shard_map/shard_map_op.h"

namespace axle::testing {
namespace {

Naives run_body(const NaiveCall& c) { return run_naively(c.op.region(), c.x, c.options); }

// Element i along dim 0.
Naive slice_at(const Naive& x, int64_t i) {
  Type type = x.type;
  type.dims.erase(type.dims.begin());
  Naive out(type);
  for (size_t k = 0; k < out.size(); ++k)
    copy_element(x, static_cast<size_t>(i) * out.size() + k, out, k);
  return out;
}
void put_at(const Naive& part, int64_t i, Naive& whole) {
  for (size_t k = 0; k < part.size(); ++k)
    copy_element(part, k, whole, static_cast<size_t>(i) * part.size() + k);
}

Naives scan(const NaiveCall& c) {
  const auto consts = static_cast<size_t>(c.attrs.number("consts")),
             carries = static_cast<size_t>(c.attrs.number("carries"));
  const int64_t length = c.attrs.number("length");
  const auto at = [&](size_t i) { return c.x.begin() + static_cast<ptrdiff_t>(i); };
  Naives carry(at(consts), at(consts + carries)), stacked;
  for (size_t i = carries; i < c.op.outputs.size(); ++i) stacked.emplace_back(c.result(i));
  for (int64_t step = 0; step < length; ++step) {
    const int64_t i = c.attrs.has("reverse") ? length - 1 - step : step;
    Naives arguments(at(0), at(consts));
    arguments.insert(arguments.end(), carry.begin(), carry.end());
    for (size_t x = consts + carries; x < c.x.size(); ++x) arguments.push_back(slice_at(c.x[x], i));
    const Naives results = run_naively(c.op.region(), arguments, c.options);
    for (size_t r = 0; r < carries; ++r) carry[r] = results[r];
    for (size_t r = carries; r < results.size(); ++r) put_at(results[r], i, stacked[r - carries]);
  }
  carry.insert(carry.end(), stacked.begin(), stacked.end());
  return carry;
}

Naives while_loop(const NaiveCall& c) {
  const auto condition = static_cast<ptrdiff_t>(c.attrs.number("condition consts")),
             body = static_cast<ptrdiff_t>(c.attrs.number("body consts"));
  Naives carry(c.x.begin() + condition + body, c.x.end());
  const auto with_consts = [&](ptrdiff_t first, ptrdiff_t count) {
    Naives out(c.x.begin() + first, c.x.begin() + first + count);
    out.insert(out.end(), carry.begin(), carry.end());
    return out;
  };
  while (run_naively(c.op.region(0), with_consts(0, condition), c.options)[0].re[0] != 0)
    carry = run_naively(c.op.region(1), with_consts(condition, body), c.options);
  return carry;
}

Naives cond(const NaiveCall& c) {
  const long double index = c.x[0].re[0];
  const auto last = c.op.regions.size() - 1;
  const size_t branch = index < 0 ? 0 : std::min(static_cast<size_t>(index), last);
  return run_naively(c.op.region(branch), Naives(c.x.begin() + 1, c.x.end()), c.options);
}

// The position of a device along each axis of the mesh.
std::map<std::string, int64_t> coordinates(const Mesh& mesh, int64_t device) {
  std::map<std::string, int64_t> out;
  for (size_t i = mesh.axes.size(); i-- > 0;) {
    out[mesh.axes[i].name] = device % mesh.axes[i].size;
    device /= mesh.axes[i].size;
  }
  return out;
}
// Which of the parts of a dim that is divided over these axes a device has.
int64_t part_of(const DimAxes& axes, const Mesh& mesh, int64_t device) {
  int64_t out = 0;
  for (const std::string& name : axes)
    out = out * mesh.size(name) + coordinates(mesh, device).at(name);
  return out;
}

// Calls fn(position in the part, position in the whole) for each element of a device's part.
template <class F>
void each_of_part(const Shape& part, const Shape& whole, const PartitionSpec& spec,
                  const Mesh& mesh, int64_t device, F fn) {
  size_t from = 0;
  each_index(part, [&](Shape i) {
    for (size_t d = 0; d < spec.dims.size(); ++d)
      i[d] += part_of(spec.dims[d], mesh, device) * part[d];
    fn(from++, position(whole, i));
  });
}

Naives shard_map(const NaiveCall& c) {
  const auto& a = c.op.attrs<ShardMapAttributes>();
  const Mesh mesh{a.axes};
  std::vector<Naives> arguments(static_cast<size_t>(mesh.num_devices()));
  for (size_t device = 0; device < arguments.size(); ++device) {
    for (size_t i = 0; i < c.x.size(); ++i) {
      Naive part(c.options.stored(c.op.region().parameters()[i].type()));
      each_of_part(
          part.type.dims, c.x[i].type.dims, a.in_specs[i], mesh, static_cast<int64_t>(device),
          [&](size_t in_part, size_t in_whole) { copy_element(c.x[i], in_whole, part, in_part); });
      arguments[device].push_back(part);
    }
  }
  const auto results = run_on_devices(c.op.region(), arguments, mesh, c.options);
  Naives y;
  for (size_t r = 0; r < c.op.outputs.size(); ++r) {
    y.emplace_back(c.result(r));
    for (size_t device = results.size(); device-- > 0;) {
      const Naive& part = results[device][r];
      each_of_part(
          part.type.dims, y[r].type.dims, a.out_specs[r], mesh, static_cast<int64_t>(device),
          [&](size_t in_part, size_t in_whole) { copy_element(part, in_part, y[r], in_whole); });
    }
  }
  return y;
}

template <class F>
CollectiveReference all_reduce(F f) {
  return [f](const AttributeText&, const std::vector<Naives>& x, const Type&) {
    Naive y = x[0][0];
    for (size_t d = 1; d < x.size(); ++d) {
      for (size_t i = 0; i < y.size(); ++i) {
        y.re[i] = f(y.re[i], x[d][0].re[i]);
        if (!y.im.empty()) y.im[i] = f(y.im[i], x[d][0].im[i]);
      }
    }
    return Naives(x.size(), y);
  };
}

// Copies all of `part` into `whole`, `offset` elements further along a dim.
void put(const Naive& part, int64_t dim, int64_t offset, Naive& whole) {
  size_t from = 0;
  each_index(part.type.dims, [&](Shape i) {
    i[static_cast<size_t>(dim)] += offset;
    copy_element(part, from++, whole, position(whole.type.dims, i));
  });
}
// Part `index` of `count` along a dim.
Naive cut(const Naive& x, int64_t dim, int64_t index, int64_t count) {
  Type type = x.type;
  type.dims[static_cast<size_t>(dim)] /= count;
  return moved_elements(x, type, [&](Shape i) {
    i[static_cast<size_t>(dim)] += index * type.dims[static_cast<size_t>(dim)];
    return i;
  });
}

Naives all_gather(const AttributeText& attrs, const std::vector<Naives>& x, const Type& type) {
  const int64_t dim = attrs.number("dim");
  Naive y(type);
  for (size_t d = 0; d < x.size(); ++d)
    put(x[d][0], dim, static_cast<int64_t>(d) * x[d][0].dim(dim), y);
  return Naives(x.size(), y);
}

Naives reduce_scatter(const AttributeText& attrs, const std::vector<Naives>& x, const Type& type) {
  const auto sum = all_reduce([](auto a, auto b) { return a + b; })(attrs, x, type);
  Naives y;
  for (size_t d = 0; d < x.size(); ++d)
    y.push_back(
        cut(sum[0], attrs.number("dim"), static_cast<int64_t>(d), static_cast<int64_t>(x.size())));
  return y;
}

Naives all_to_all(const AttributeText& attrs, const std::vector<Naives>& x, const Type& type) {
  const int64_t concat = attrs.number("concat_dim");
  Naives y;
  for (size_t to = 0; to < x.size(); ++to) {
    y.emplace_back(type);
    for (size_t from = 0; from < x.size(); ++from) {
      const Naive piece = cut(x[from][0], attrs.number("split_dim"), static_cast<int64_t>(to),
                              static_cast<int64_t>(x.size()));
      put(piece, concat, static_cast<int64_t>(from) * piece.dim(concat), y.back());
    }
  }
  return y;
}

Naives ppermute(const AttributeText& attrs, const std::vector<Naives>& x, const Type& type) {
  Naives y(x.size(), Naive(type));
  const auto pairs = attrs.numbers("pairs");
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    y[static_cast<size_t>(pairs[i + 1])] = x[static_cast<size_t>(pairs[i])][0];
  return y;
}

// Operands: the rows to send, the output, then per device of the group input offsets, sizes sent,
// output offsets and sizes received.
Naives ragged_all_to_all(const AttributeText&, const std::vector<Naives>& x, const Type&) {
  Naives y;
  for (size_t to = 0; to < x.size(); ++to) {
    y.push_back(x[to][1]);
    for (const Naives& from : x) {
      const Naive& rows = from[0];
      const size_t row = rows.size() / static_cast<size_t>(rows.dim(0));
      const auto entry = [&](size_t operand) { return static_cast<size_t>(from[operand].re[to]); };
      for (size_t i = 0; i < entry(3) * row; ++i)
        copy_element(rows, entry(2) * row + i, y[to], entry(4) * row + i);
    }
  }
  return y;
}

// Returns, for each group of a collective, its devices in row-major order over the axes.
std::vector<std::vector<size_t>> groups(const AttributeText& attrs, const Mesh& mesh) {
  DimAxes axes;
  const std::string text = attrs.value("axes");  // "[data=2, model=4]"
  for (size_t at = 1; at < text.size();) {
    const size_t equals = text.find('=', at);
    if (equals == std::string::npos) break;
    axes.push_back(text.substr(at, equals - at));
    at = text.find(' ', equals);
    if (at == std::string::npos) break;
    ++at;
  }
  std::map<std::map<std::string, int64_t>, std::map<int64_t, size_t>> found;
  for (int64_t device = 0; device < mesh.num_devices(); ++device) {
    auto others = coordinates(mesh, device);
    for (const std::string& name : axes) others.erase(name);
    found[others][part_of(axes, mesh, device)] = static_cast<size_t>(device);
  }
  std::vector<std::vector<size_t>> out;
  for (const auto& [others, members] : found) {
    out.emplace_back();
    for (const auto& [place, device] : members) out.back().push_back(device);
  }
  return out;
}

using Known = std::unordered_map<const OpNode*, Naives>;

Naives operands(const OpNode& op, const Known& known) {
  Naives x;
  for (const Tensor& t : op.inputs) x.push_back(known.at(t.node())[t.index()]);
  return x;
}

}  // namespace

void add_body_references(References& out) {
  out["scan"] = scan;
  out["while"] = while_loop;
  out["cond"] = cond;
  out["shard_map"] = shard_map;
  for (const char* name : {"call", "remat", "custom_vjp", "kernel_call"}) out[name] = run_body;
}

const CollectiveReferences& collective_references() {
  static const CollectiveReferences all = {
      {"psum", all_reduce([](auto a, auto b) { return a + b; })},
      {"pmax", all_reduce([](auto a, auto b) { return std::max(a, b); })},
      {"pmin", all_reduce([](auto a, auto b) { return std::min(a, b); })},
      {"all_gather", all_gather},
      {"reduce_scatter", reduce_scatter},
      {"all_to_all", all_to_all},
      {"ppermute", ppermute},
      {"ragged_all_to_all", ragged_all_to_all}};
  return all;
}

std::vector<Naives> run_on_devices(const Region& region, const std::vector<Naives>& arguments,
                                   const Mesh& mesh, const EvalOptions& options) {
  std::vector<Known> known(arguments.size());
  for (size_t d = 0; d < known.size(); ++d) {
    for (size_t i = 0; i < arguments[d].size(); ++i)
      known[d][region.parameters()[i].node()] = {arguments[d][i]};
  }
  for (const OpNode* op : region.ops()) {
    const std::string name(op->rules->name());
    const auto collective = collective_references().find(name);
    if (collective != collective_references().end()) {
      const AttributeText attrs(*op);
      for (const auto& group : groups(attrs, mesh)) {
        std::vector<Naives> x;
        for (const size_t d : group) x.push_back(operands(*op, known[d]));
        const Naives y = collective->second(attrs, x, options.stored(op->outputs[0]));
        for (size_t i = 0; i < group.size(); ++i) known[group[i]][op] = {y[i]};
      }
      continue;
    }
    const auto found = references().find(name);
    if (found == references().end()) throw std::runtime_error("no reference of " + name);
    for (Known& own : known)
      own[op] = found->second({*op, operands(*op, own), options, AttributeText(*op)});
  }
  std::vector<Naives> out(known.size());
  for (size_t d = 0; d < known.size(); ++d) {
    for (const Tensor& t : region.results()) out[d].push_back(known[d].at(t.node())[t.index()]);
  }
  return out;
}

Naives run_naively(const Region& region, const Naives& arguments, const EvalOptions& options) {
  return run_on_devices(region, {arguments}, {}, options)[0];
}

}  // namespace axle::testing

#include "plan/graph/drawing.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/text/text_table.h"
#include "io/file.h"
#include "ir/op_rules.h"
#include "ir/value_map.h"
#include "lower/stablehlo.h"
#include "plan/graph/layer_table.h"
#include "plan/graph/walk_ops.h"
#include "transform/bodies.h"
#include "transform/partition.h"

namespace axle {
namespace {

constexpr int64_t kDefaultDepth = 2;

// Returns `path` cut off at `depth` parts below `layer`; "" for a path that is not in the layer.
std::string node_of(std::string_view path, const std::string& layer, int64_t depth) {
  if (path.empty() || !is_in_layer(path, layer)) return "";
  size_t end = layer.empty() ? 0 : layer.size() + 1;
  for (int64_t i = 0; i < depth && end < path.size(); ++i) {
    const size_t slash = path.find('/', end);
    end = slash == path.npos ? path.size() : slash + 1;
  }
  std::string out(path.substr(0, std::min(end, path.size())));
  if (out.ends_with('/')) out.pop_back();
  return out;
}

// What flows between nodes: bytes by reader and computer.
class Edges {
 public:
  Edges(const std::string& layer, int64_t depth) : layer_(layer), depth_(depth) {}

  // Follows the forward ops of a region. `known` holds the nodes of its parameters.
  void follow(const Region& region, const std::vector<bool>& is_forward,
              std::unordered_map<Tensor, std::string, TensorHash, TensorSame> known) {
    for (size_t i = 0; i < region.ops().size(); ++i) {
      const OpNode& op = *region.ops()[i];
      if (!is_forward[i]) continue;
      const std::string node = node_of(layer_of(op), layer_, depth_);
      if (!op.regions.empty()) follow_bodies(op, known);
      std::string origin;  // of an op outside of all layers: where its first known operand is from
      for (const Tensor& t : op.inputs) {
        const auto found = known.find(t);
        if (found == known.end() || found->second.empty()) continue;
        if (origin.empty()) origin = found->second;
        if (op.regions.empty()) add(found->second, node, t);
      }
      for (uint32_t r = 0; r < op.outputs.size(); ++r) {
        const Tensor t(&op, r);
        const auto inner = result_nodes_.find(t);
        known[t] = inner != result_nodes_.end() ? inner->second : node.empty() ? origin : node;
      }
    }
    for (const Tensor& t : region.results()) last_[&region].push_back(known[t]);
  }

  const std::map<std::pair<std::string, std::string>, double>& all() const { return bytes_; }

 private:
  void follow_bodies(const OpNode& op,
                     std::unordered_map<Tensor, std::string, TensorHash, TensorSame>& known) {
    const BodyFlow flow = flow_of(op);
    for (size_t r = 0; r < op.regions.size(); ++r) {
      const Region& body = op.region(r);
      const auto& [parameters, results, trips] = flow.regions[r];
      std::unordered_map<Tensor, std::string, TensorHash, TensorSame> inside;
      for (size_t i = 0; i < parameters.size(); ++i)
        inside[body.parameters()[i]] = known[op.inputs[parameters[i].at]];
      follow(body, std::vector<bool>(body.ops().size(), true), std::move(inside));
      const std::vector<std::string>& nodes = last_[&body];
      for (size_t i = 0; i < results.size(); ++i)
        result_nodes_[Tensor(&op, static_cast<uint32_t>(results[i].at))] = nodes[i];
    }
  }
  void add(const std::string& from, const std::string& to, const Tensor& t) {
    if (to.empty() || from == to || !seen_.insert({to, t.node(), t.index()}).second) return;
    bytes_[{from, to}] += static_cast<double>(t.type().num_bytes());
  }

  std::string layer_;
  int64_t depth_;
  std::map<std::pair<std::string, std::string>, double> bytes_;
  std::set<std::tuple<std::string, const OpNode*, uint32_t>> seen_;
  std::unordered_map<const Region*, std::vector<std::string>> last_;
  std::unordered_map<Tensor, std::string, TensorHash, TensorSame> result_nodes_;
};

std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + '"';
}

// A file without a name.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("axle", MFD_CLOEXEC)) {
    if (descriptor_ < 0)
      throw StorageError(fmt::format("--svg: no memory for the graph: {}", std::strerror(errno)));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }

  void write(std::string_view text) const {
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = ::write(descriptor_, text.data() + at, text.size() - at);
      if (n < 0) throw StorageError(fmt::format("--svg: {}", std::strerror(errno)));
      at += static_cast<size_t>(n);
    }
    lseek(descriptor_, 0, SEEK_SET);
  }
  std::string read() const {
    std::string out(static_cast<size_t>(lseek(descriptor_, 0, SEEK_END)), '\0');
    size_t at = 0;
    while (at < out.size()) {
      const ssize_t n =
          pread(descriptor_, out.data() + at, out.size() - at, static_cast<off_t>(at));
      if (n <= 0) throw StorageError(fmt::format("--svg: {}", std::strerror(errno)));
      at += static_cast<size_t>(n);
    }
    return out;
  }

 private:
  int descriptor_;
};

}  // namespace

std::string drawing(const Program& step, const std::string& layer,
                    const std::optional<int64_t>& depth) {
  const int64_t levels = depth.value_or(kDefaultDepth);
  const Region& graph = differentiated_region(*step.graph);
  Edges edges(layer, levels);
  std::vector<bool> is_forward;
  for (const StepStage stage : stages_of(graph)) is_forward.push_back(stage == StepStage::kForward);
  edges.follow(graph, is_forward, {});

  std::string out = std::string(
      "digraph step {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=Helvetica];\n"
      "  edge [fontname=Helvetica, fontsize=10];\n");
  bool is_empty = true;
  for (const LayerRow& row : layer_table(step, layer, levels).rows) {
    if (row.path.empty() || row.num_ops[0] == 0) continue;
    is_empty = false;
    std::string label = row.path.size() > layer.size() && !layer.empty()
                            ? row.path.substr(layer.size() + 1)
                            : row.path;
    label += fmt::format("\n{:.4g} FLOPs, {}", row.flops[0], bytes_text(row.bytes[0]));
    if (row.saved_bytes > 0) label += fmt::format("\nsaves {}", bytes_text(row.saved_bytes));
    out += fmt::format("  {} [label={}];\n", dot_string(row.path), dot_string(label));
  }
  if (is_empty && !layer.empty())
    throw ConfigError(
        fmt::format("--layer: expected a layer of the forward pass, got '{}'", layer));
  for (const auto& [ends, bytes] : edges.all()) {
    out += fmt::format("  {} -> {} [label={}];\n", dot_string(ends.first), dot_string(ends.second),
                       dot_string(bytes_text(bytes)));
  }
  return out + "}\n";
}

void write_svg(const std::string& graph, const std::filesystem::path& file) {
  const MemoryFile input, output;
  input.write(graph);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  std::string program = "dot", format = "-Tsvg";
  char* arguments[] = {program.data(), format.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    const std::string why =
        error == ENOENT ? "none" : fmt::format("\"{}\" at its start", std::strerror(error));
    throw DeviceError(
        fmt::format("--svg: expected graphviz's program 'dot' in PATH, got {}; install the package "
                    "graphviz, or print the drawing as text with --dot",
                    why));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw DeviceError(
        fmt::format("{}: expected a drawing from graphviz's program 'dot', got exit "
                    "code {}",
                    file.string(), WEXITSTATUS(status)));
  replace_file(file, output.read());
}

namespace {

// Ops of one region.
struct Part {
  const Region* region = nullptr;
  std::vector<const OpNode*> ops = {};
};

// Returns the forward ops of the layer in the outermost region that has any.
Part find_forward(const Region& region, const std::string& layer) {
  const std::vector<StepStage> stages = stages_of(region);
  Part out{&region};
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] == StepStage::kForward && is_in_layer(layer_of(*region.ops()[i]), layer))
      out.ops.push_back(region.ops()[i]);
  }
  if (!out.ops.empty()) return out;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] != StepStage::kForward) continue;
    for (const auto& body : region.ops()[i]->regions) {
      Part found = find_forward(*body, layer);
      if (!found.ops.empty()) return found;
    }
  }
  return out;
}

std::vector<ProgramValue> named(const Values& values, std::string_view prefix) {
  std::vector<ProgramValue> out;
  for (const Tensor& t : values) {
    const std::string_view path = t.is_parameter() ? layer_of(*t.node()) : std::string_view();
    out.push_back(
        {path.empty() ? fmt::format("{}{}", prefix, out.size()) : std::string(path), t.type()});
  }
  return out;
}

}  // namespace

Program layer_program(const Program& step, const std::string& layer) {
  const Part part = find_forward(*step.graph, layer);
  if (part.ops.empty()) {
    throw ConfigError(
        fmt::format("--layer: expected a layer of the forward pass, got '{}'", layer));
  }
  const std::unordered_set<const OpNode*> own(part.ops.begin(), part.ops.end());
  Values inputs, outputs;
  ValueSet seen;
  const auto add = [&](Values& to, const Tensor& t) {
    if (seen.insert(t)) to.push_back(t);
  };
  for (const OpNode* op : part.ops) {
    for (const Tensor& t : op->inputs) {
      if (!own.contains(t.node())) add(inputs, t);
    }
  }
  for (const OpNode* op : part.region->ops()) {
    if (own.contains(op)) continue;
    for (const Tensor& t : op->inputs) {
      if (own.contains(t.node())) add(outputs, t);
    }
  }
  for (const Tensor& t : part.region->results()) {
    if (own.contains(t.node())) add(outputs, t);
  }
  return lower(slice_region(*part.region, inputs, outputs), "layer", named(inputs, "input"),
               named(outputs, "output"), step.mesh);
}

}  // namespace axle

#include "plan/memory_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/regex.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "hlo/op_name.h"
#include "layers/mesh_axes.h"
#include "recipes/resolve/use_data.h"
#include "runtime/memory_estimate.h"
#include "train/config/microbatches.h"

namespace axle {
namespace {

// Throws ConfigError for an axis that must be a typo: it is no standard mesh axis and no part of
// the state is sharded over it.
void check_unknown_axes(Mesh mesh, const std::vector<ProgramValue>& state) {
  std::erase_if(mesh.axes, [](const MeshAxis& axis) {
    const std::string role = axis.name.substr(axis.name.find(':') + 1);
    return std::ranges::count(kMeshAxes, role) > 0;
  });
  check_mesh(mesh, state);
}

}  // namespace

std::optional<bool> StateMemory::fits() const {
  if (device_memory_bytes == 0) return std::nullopt;
  const double one = static_cast<double>(device_memory_bytes);
  if (device_bytes) return *device_bytes <= one;
  return whole_bytes > one * static_cast<double>(num_devices) ? std::optional(false) : std::nullopt;
}

StateMemory state_memory(const std::vector<ProgramValue>& state, const Mesh& mesh,
                         int64_t num_devices, int64_t device_memory_bytes) {
  StateMemory out{.num_devices = num_devices, .device_memory_bytes = device_memory_bytes};
  for (const ProgramValue& leaf : state)
    out.whole_bytes += static_cast<double>(leaf.type.num_bytes());
  try {
    const Mesh whole = infer_mesh(mesh, num_devices);
    check_unknown_axes(whole, state);
    double sum = 0;
    for (const ProgramValue& leaf : state) {
      check_partition(leaf.name, leaf.type.dims, leaf.sharding, whole);
      sum += static_cast<double>(bytes_on_devices(leaf, whole)) / static_cast<double>(num_devices);
    }
    out.device_bytes = sum;
  } catch (const ConfigError&) {  // the mesh has no layout for the state
  }
  return out;
}

std::string to_text(const StateMemory& s) {
  const double one = static_cast<double>(s.device_memory_bytes);
  const auto fits = s.fits();
  std::string out = fmt::format("the training state is {}", bytes_text(s.whole_bytes));
  if (s.device_bytes) {
    out += fmt::format(", {} of it on each device", bytes_text(*s.device_bytes));
    if (fits)
      out += fmt::format(": it {} into {}", *fits ? "fits" : "does not fit", bytes_text(one));
    return out;
  }
  out += fits ? ": it does not fit: " : ", and this mesh has no layout for it";
  if (s.device_memory_bytes == 0) return out;
  if (!fits) out += "; ";
  const bool is_one = s.num_devices == 1;
  return out + fmt::format("{} device{} of {} {} {} in total", s.num_devices, is_one ? "" : "s",
                           bytes_text(one), is_one ? "has" : "have",
                           bytes_text(one * static_cast<double>(s.num_devices)));
}

nlohmann::ordered_json to_json(const StateMemory& s) {
  using Json = nlohmann::ordered_json;
  const auto fits = s.fits();
  const auto integer = [](double bytes) {
    constexpr double kMost = 1e18;
    return static_cast<int64_t>(std::ceil(std::min(bytes, kMost)));
  };
  return {{"bytes", integer(s.whole_bytes)},
          {"bytes_per_device", s.device_bytes ? Json(integer(*s.device_bytes)) : Json(nullptr)},
          {"device_memory_bytes", s.device_memory_bytes},
          {"fits", fits ? Json(*fits) : Json(nullptr)}};
}

RefusedMeshError::RefusedMeshError(std::string why, StateMemory of_state)
    : ConfigError(fmt::format("{}; {}", why, to_text(of_state))),
      reason(std::move(why)),
      state(of_state) {}

namespace {

Trainer::Config without_data(Trainer::Config config) {
  UseData{kSyntheticData}.apply_to(config);
  for (auto& [name, evaler] : config.evalers) make_synthetic(evaler.input, kSyntheticEvalBatches);
  return config;
}

// Bytes of one device that the program itself needs, besides its arguments; none: not known.
std::optional<int64_t> own_bytes(const CompileReport& compiled, int64_t argument_bytes) {
  if (compiled.memory) return compiled.memory->total_bytes() - compiled.memory->argument_bytes;
  const auto shortage = read_memory_shortage(compiled.too_large_message);
  if (!shortage) return std::nullopt;
  return shortage->of.empty() ? shortage->needed - argument_bytes : shortage->needed;
}

// Fills in what the compiler says of the evaluation.
void read(const CompileReport& compiled, const MemoryEstimate& estimate, const CompileReport& step,
          EvaluationMemory& out) {
  out.fits = compiled.fits();
  if (!step.memory || step.device_memory_bytes == 0) return;
  // The program reads the parameters alone; the rest of the state stays.
  const auto read = static_cast<int64_t>(estimate.argument_bytes);
  const auto own = own_bytes(compiled, read);
  if (!own) return;
  out.bytes = *own + std::max(step.memory->argument_bytes, read);
  out.fits = out.fits != false && *out.bytes <= step.device_memory_bytes;
}

// Returns the rows with which an evaluation fits if its own memory follows them.
std::optional<SetField> change_of(const Trainer::Config& config, const LoweredStep& step,
                                  const std::string& name, double own, double available) {
  const int64_t rows = evaluation_rows(evaluation_microbatches(config, name, step.program.mesh),
                                       [&](double share) { return share * own <= available; });
  if (rows == 0) return {};
  return SetField{name + ".input.batch_size", std::to_string(rows)};
}

std::string flag_of(const EvaluationMemory& one) {
  return one.change ? fmt::format("--set {}={}", one.change->path, one.change->text) : "";
}

}  // namespace

TracedEvaluations::TracedEvaluations(const Trainer::Config& config, const Mesh& mesh)
    : config_(config) {
  if (config.evalers.empty()) return;
  modules_.emplace(without_data(config));
  evaluations_.emplace(modules_->config.evalers, modules_->config.task_evalers,
                       modules_->evaluated_on(mesh));
}

std::vector<EvaluationMemory> TracedEvaluations::memory(const LoweredStep& step,
                                                        const CompileReport& report,
                                                        const CompileEvaluation& compile) const {
  std::vector<EvaluationMemory> out;
  if (!evaluations_) return out;
  const double most = estimate_memory(step.program).temporary_bytes;
  std::map<std::string_view, CompileReport> compiled;  // evalers may share a program
  for (const auto& [name, program] : evaluations_->traced()) {
    EvaluationMemory& one = out.emplace_back(EvaluationMemory{.name = name});
    const MemoryEstimate estimate = estimate_memory(*program);
    if (estimate.temporary_bytes <= most) {
      one.fits = report.fits();
      continue;
    }
    auto known = compiled.find(program->text);
    if (known == compiled.end()) {
      LoweredStep evaluation{.recipe = step.recipe, .target = step.target, .program = *program};
      evaluation.options = step.options;
      known = compiled.emplace(program->text, compile(evaluation, name)).first;
    }
    read(known->second, estimate, report, one);
    if (one.fits != false || !one.bytes) continue;
    const auto state = static_cast<double>(report.memory->argument_bytes);
    one.change = change_of(config_, step, name, static_cast<double>(*one.bytes) - state,
                           static_cast<double>(report.device_memory_bytes) - state);
  }
  return out;
}

std::string to_text(const std::vector<EvaluationMemory>& evaluations, int64_t device_memory_bytes) {
  std::string out;
  for (const EvaluationMemory& one : evaluations) {
    if (!one.bytes && one.fits != false) continue;
    out += fmt::format("{}: {}", one.name, one.fits == false ? "does not fit" : "fits");
    if (one.bytes)
      out += fmt::format(": {} of {} per device, with the training state", bytes_text(*one.bytes),
                         bytes_text(device_memory_bytes));
    if (one.change) out += fmt::format("; {} fits by proportion", flag_of(one));
    out += '\n';
  }
  return out;
}

nlohmann::ordered_json to_json(const std::vector<EvaluationMemory>& evaluations) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const EvaluationMemory& one : evaluations) {
    out.push_back({{"name", one.name},
                   {"fits", one.fits ? Json(*one.fits) : Json(nullptr)},
                   {"bytes", one.bytes ? Json(*one.bytes) : Json(nullptr)},
                   {"change", flag_of(one)}});
  }
  return out;
}

namespace {

// One way in which compilers phrase a shortage. The last size in the sentence is what the device
// has; the sizes before it add up to what the program needs.
struct Phrasing {
  Regex sentence;
  std::string of;
};

Regex sentence(std::string_view text) {
  static constexpr std::string_view kSize = R"(([0-9]+(?:\.[0-9]+)?[KMGTPE]?)(?:i?B)?)";
  std::string pattern(text);
  for (size_t at = 0; (at = pattern.find("SIZE", at)) != pattern.npos; at += kSize.size())
    pattern.replace(at, 4, kSize);
  return Regex(pattern);
}

const std::array<Phrasing, 4>& phrasings() {
  static const std::array<Phrasing, 4> all = {
      {{sentence(R"(required for HLO temporaries \(SIZE\) exceeds available HBM \(SIZE\))"),
        "temporaries"},
       {sentence(R"(Used SIZE of SIZE hbm)"), ""},
       {sentence(R"(Requires SIZE, has SIZE available)"), ""},
       {sentence(R"(TensorCore Hbm usage: SIZE, SparseCore Hbm usage:? SIZE, )"
                 R"(exceeding available bytes: SIZE)"),
        ""}}};
  return all;
}

// Reads a size such as "15.75G". The units are powers of 1024.
double bytes_of(const std::string& size) {
  constexpr std::string_view kUnits = "KMGTPE";
  const size_t unit = kUnits.find(size.back());
  return std::strtod(size.c_str(), nullptr) * std::pow(1024, unit == kUnits.npos ? 0 : unit + 1);
}

}  // namespace

std::optional<MemoryShortage> read_memory_shortage(std::string_view refusal) {
  for (const Phrasing& phrasing : phrasings()) {
    const auto sizes = phrasing.sentence.search(refusal);
    if (!sizes) continue;
    double needed = 0;
    for (size_t i = 1; i + 1 < sizes->size(); ++i) needed += bytes_of((*sizes)[i]);
    const double available = bytes_of(sizes->back());
    constexpr double kMax = 0x1p62;
    if (needed > kMax || needed <= available) return std::nullopt;
    return MemoryShortage{std::llround(needed), std::llround(available), phrasing.of};
  }
  return std::nullopt;
}

namespace {

// Returns the text between `start` and `end`, or up to the end of the line if `end` is empty. None
// if the line does not begin with `start`.
std::optional<std::string_view> between(std::string_view line, std::string_view start,
                                        std::string_view end) {
  if (!line.starts_with(start)) return std::nullopt;
  line.remove_prefix(start.size());
  return line.substr(0, end.empty() ? line.size() : line.find(end));
}

// Reads the bytes from a line such as "12. Size: 4.00G"; none for other lines.
std::optional<int64_t> listed_size(std::string_view line) {
  const size_t dot = line.find_first_not_of("0123456789");
  if (dot == 0 || dot == line.npos) return std::nullopt;
  const auto size = between(line.substr(dot), ". Size: ", "");
  if (!size || size->empty()) return std::nullopt;
  return std::llround(bytes_of(std::string(*size)));
}

}  // namespace

std::vector<TemporaryBuffer> read_largest_buffers(std::string_view details) {
  std::vector<TemporaryBuffer> out;
  for (std::string_view line : split(details, '\n')) {
    line = trim(line);
    if (const auto size = listed_size(line)) out.push_back({.count = 1, .bytes = *size});
    if (out.empty()) continue;
    TemporaryBuffer& last = out.back();
    if (const auto name = between(line, "Operator: op_name=\"", "\"")) {
      const auto locations = op_locations(*name);
      last.layer = layer_text(locations);
      last.op = op_text(locations);
      last.backward = std::ranges::any_of(locations, &OpLocation::backward);
    }
    if (const auto shape = between(line, "Shape: ", "{")) last.shape = *shape;
    if (const auto label = between(line, "XLA label: ", " ="); label && last.op.empty())
      last.op = *label;
  }
  return out;
}

}  // namespace axle

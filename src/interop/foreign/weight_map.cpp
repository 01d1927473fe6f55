#include "interop/foreign/weight_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/parallel.h"
#include "base/text/text.h"
#include "ir/host_tensor.h"

namespace axle {

void TensorSource::read_part(const std::string& name, int64_t, HostTensor&) const {
  AXLE_CHECK(false, "a source that reads tensors whole: " + name);
}

StoredCodes TensorSource::codes(const std::string& name) const {
  AXLE_CHECK(false, "a tensor without codes: " + name);
}

namespace {

// Pieces of a tensor that a thread reads at once, and copies while the cache holds them.
constexpr int64_t kPieceBytes = int64_t{1} << 20;
constexpr std::string_view kLayer = "{layer}", kExpert = "{expert}";

// A multiple of the elements of a cache line, which two threads would share in a transposed tensor.
int64_t rows_of_piece(int64_t row_bytes) {
  constexpr int64_t kLine = 64;
  const int64_t rows = kPieceBytes / std::max<int64_t>(row_bytes, 1);
  return rows < kLine ? std::max<int64_t>(rows, 1) : rows / kLine * kLine;
}

bool holds(const std::string& name, std::string_view sign) {
  return name.find(sign) != std::string::npos;
}
// The name with a number instead of its placeholder.
std::string numbered(std::string name, std::string_view sign, int64_t number) {
  const size_t at = name.find(sign);
  return at == name.npos ? name : name.replace(at, sign.size(), std::to_string(number));
}

void throw_any(std::vector<std::string> mistakes) {
  constexpr size_t kMax = 20;
  if (mistakes.empty()) return;
  if (mistakes.size() > kMax) {
    const size_t rest = mistakes.size() - kMax;
    mistakes.resize(kMax);
    mistakes.push_back(fmt::format("and {} more", rest));
  }
  throw DataError(join(mistakes, "\n"));
}

}  // namespace

void WeightRows::add(std::string_view ours, std::string_view theirs, Storage storage) const {
  rows_.push_back({.ours = std::string(ours_) + std::string(ours),
                   .theirs = std::string(theirs_) + std::string(theirs),
                   .storage = storage});
}

void WeightRows::linear(const std::string& ours, const std::string& theirs, Storage storage) const {
  add(ours + "/weight", theirs + ".weight", storage);
  add(ours + "/bias", theirs + ".bias", Storage::kVector);
}

void WeightRows::norm(const std::string& ours, const std::string& theirs) const {
  add(ours + "/scale", theirs + ".weight", Storage::kVector);
  add(ours + "/bias", theirs + ".bias", Storage::kVector);
}

WeightMap::WeightMap(const std::vector<WeightRow>& rows, Tree<ParamSpec> specs)
    : specs_(std::move(specs)) {
  std::map<std::string, int> times;
  for (const WeightRow& row : rows) {
    const auto spec = specs_.find(row.ours);
    if (spec == specs_.end()) continue;
    AXLE_CHECK(++times[row.ours] == 1, "two rows for " + row.ours);
    add(row, spec->second);
  }
  for (const auto& [path, spec] : specs_) AXLE_CHECK(times.contains(path), "no row for " + path);
  for (auto& [name, parts] : parts_) std::ranges::stable_sort(parts, {}, &Part::group);
}

void WeightMap::add(const WeightRow& row, const ParamSpec& spec) {
  Shape shape = spec.shape;
  int64_t num_layers = 1, num_experts = 1;
  const auto take = [&](std::string_view sign, int64_t& count) {
    if (!holds(row.theirs, sign)) return;
    count = shape.front();
    shape.erase(shape.begin());
  };
  take(kLayer, num_layers);
  take(kExpert, num_experts);
  Part part{.path = row.ours,
            .storage = row.storage,
            .rows = shape.size() < 2 ? 1 : shape.front(),
            .is_vector = shape.size() < 2 || row.storage == Storage::kVector};
  if (part.is_vector) part.rows = 1;
  part.num_groups = row.num_groups;
  part.columns = num_elements(shape) / std::max<int64_t>(part.rows * row.num_groups, 1);
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    for (int64_t expert = 0; expert < num_experts; ++expert) {
      const std::string name =
          numbered(numbered(row.theirs, kLayer, row.first_layer + layer * row.layer_stride),
                   kExpert, expert);
      part.slice = layer * num_experts + expert;
      for (part.group = 0; part.group < part.num_groups; ++part.group) parts_[name].push_back(part);
    }
  }
}

bool WeightMap::transposes(const Part& part) {
  return !part.is_vector &&
         (part.storage == Storage::kTransposed || part.storage == Storage::kFilters);
}

// Parts lie side by side along the outputs: rows of [outputs, inputs], columns of [inputs,
// outputs].
Shape WeightMap::shape_of(const std::vector<Part>& parts) const {
  int64_t outputs = 0;
  for (const Part& part : parts) outputs += part.columns;
  if (parts[0].is_vector) return {outputs};
  if (parts[0].storage == Storage::kFilters) return {outputs, 1, parts[0].rows};
  return parts[0].storage == Storage::kTransposed ? Shape{outputs, parts[0].rows}
                                                  : Shape{parts[0].rows, outputs};
}

Tree<HostTensor> WeightMap::read(const TensorSource& source,
                                 const std::vector<std::string>& unused) const {
  std::vector<std::string> mistakes;
  const auto add = [&](const std::string& name, const std::string& line) {
    mistakes.push_back(fmt::format("{}: {}: {}", source.where(), source.name_in_file(name), line));
  };
  const auto is_number = [&](DType stored, const Part& part) {
    return is_float(stored) || stored == specs_.at(part.path).dtype;
  };
  const std::vector<std::string> names = source.names();
  std::vector<std::string> fitting;
  for (const auto& [name, parts] : parts_) {
    const Shape expected = shape_of(parts);
    if (!std::ranges::binary_search(names, name)) {
      add(name, fmt::format("expected a tensor {}, got none", to_text(expected)));
      continue;
    }
    if (const Type type = source.type(name);
        type.dims != expected || !is_number(type.dtype, parts[0])) {
      add(name, fmt::format("expected floats {}, got {}", to_text(expected), to_text(type)));
    } else {
      fitting.push_back(name);
    }
  }
  const std::set<std::string_view> is_unused(unused.begin(), unused.end());
  for (const std::string& name : names) {
    if (parts_.contains(name) || is_unused.contains(name)) continue;
    add(name, fmt::format("expected no tensor of this name, got {}", to_text(source.type(name))));
  }
  Tree<HostTensor> out;
  if (mistakes.empty()) {
    int64_t bytes = 0;
    for (const auto& [path, spec] : specs_) bytes += static_cast<int64_t>(spec.type().num_bytes());
    check_host_allocation(source.where(), "its weights", bytes);
    for (const auto& [path, spec] : specs_) out.emplace(path, HostTensor(spec.type()));
  }
  for (const auto& [name, mistake] : read_into(source, fitting, out)) add(name, mistake);
  throw_any(mistakes);
  return out;
}

std::map<std::string, std::string> WeightMap::read_into(const TensorSource& source,
                                                        const std::vector<std::string>& names,
                                                        Tree<HostTensor>& out) const {
  std::map<std::string, std::string> mistakes;
  std::mutex mutex;
  const auto add = [&](const std::string& name, const std::string& mistake) {
    const std::lock_guard lock(mutex);
    mistakes.emplace(name, mistake);
  };
  // Takes the rows of a tensor from `first` on.
  const auto take = [&](const std::string& name, int64_t first, HostTensor rows) {
    if (!all_finite(rows)) return add(name, "expected finite numbers, got NaN or infinity");
    if (out.empty()) return;
    const std::vector<Part>& parts = parts_.at(name);
    if (const DType dtype = specs_.at(parts[0].path).type().dtype; rows.dtype() != dtype) {
      HostTensor converted = rows.astype(dtype);
      if (const auto number = first_too_large(rows, converted))
        return add(name, too_large_text(*number, dtype));
      rows = std::move(converted);
    }
    put(parts, first, std::move(rows), out);
  };
  struct Piece {
    const std::string* name;
    int64_t first, num_rows, columns;
    DType dtype;
  };
  std::vector<Piece> pieces;
  for (const std::string& name : names) {
    if (!source.reads_parts(name)) {
      take(name, 0, source.get(name));
      continue;
    }
    const Type type = source.type(name);
    const int64_t rows = parts_.at(name)[0].is_vector ? 1 : type.dims[0],
                  columns = type.num_elements() / std::max<int64_t>(rows, 1),
                  row_bytes = columns * static_cast<int64_t>(size_bytes(type.dtype)),
                  step = rows_of_piece(row_bytes);
    for (int64_t row = 0; row < rows; row += step)
      pieces.push_back({&name, row, std::min(step, rows - row), columns, type.dtype});
  }
  parallel_for(std::ssize(pieces), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[i];
      HostTensor rows(Type{piece.dtype, {piece.num_rows, piece.columns}});
      source.read_part(*piece.name, piece.first * piece.columns, rows);
      take(*piece.name, piece.first, std::move(rows));
    }
  });
  return mistakes;
}

void WeightMap::put(const std::vector<Part>& parts, int64_t first, HostTensor rows,
                    Tree<HostTensor>& out) const {
  const Type type = specs_.at(parts[0].path).type();
  // The largest tensors, an embedding and a head, are not copied.
  if (parts.size() == 1 && rows.type() == type && !transposes(parts[0])) {
    out.at(parts[0].path) = std::move(rows);
    return;
  }
  const bool is_vector = parts[0].is_vector;
  const int64_t num_rows = is_vector ? 1 : rows.shape()[0],
                stride = rows.size() / std::max<int64_t>(num_rows, 1);
  int64_t outputs = 0;
  for (const Part& part : parts) {
    MatrixWindow to = part.window();
    HostTensor& target = out.at(part.path);
    if (transposes(part)) {  // a row holds an output
      const int64_t begin = std::max(first, outputs),
                    end = std::min(first + num_rows, outputs + part.columns);
      to.offset += begin - outputs;
      if (begin < end)
        copy_elements(rows, {(begin - first) * stride, stride}, true, part.rows, end - begin,
                      target, to);
    } else {
      to.offset += first * to.stride;
      copy_elements(rows, {outputs, stride}, false, num_rows, part.columns, target, to);
    }
    outputs += part.columns;
  }
}

Tree<Type> WeightMap::types(DType dtype) const {
  Tree<Type> out;
  for (const auto& [name, parts] : parts_) out.emplace(name, Type{dtype, shape_of(parts)});
  return out;
}

std::set<std::string> WeightMap::names_of(const std::set<std::string>& paths) const {
  std::set<std::string> out;
  for (const auto& [name, parts] : parts_) {
    const auto is_named = [&](const Part& part) { return paths.contains(part.path); };
    if (std::ranges::any_of(parts, is_named)) out.insert(name);
  }
  return out;
}

HostTensor WeightMap::tensor(const std::string& name, const Tree<HostTensor>& parameters,
                             DType dtype) const {
  const std::vector<Part>& parts = parts_.at(name);
  // The largest tensors, an embedding and a head, are not copied twice.
  const HostTensor& first = parameters.at(parts[0].path);
  if (parts.size() == 1 && first.shape() == shape_of(parts) && !transposes(parts[0]))
    return checked_astype(first, dtype, name);
  HostTensor out(Type{dtype, shape_of(parts)});
  const int64_t stride = out.shape().back();
  int64_t outputs = 0;
  for (const Part& part : parts) {
    const HostTensor& own = parameters.at(part.path);
    const bool transpose = transposes(part);
    const MatrixWindow to{outputs * (transpose ? stride : 1), stride};
    const int64_t rows = transpose ? part.columns : part.rows,
                  columns = transpose ? part.rows : part.columns;
    if (own.dtype() == dtype) {
      copy_elements(own, part.window(), transpose, rows, columns, out, to);
    } else {
      HostTensor slice(Type{own.dtype(), {part.rows, part.columns}});
      copy_elements(own, part.window(), false, part.rows, part.columns, slice, {0, part.columns});
      copy_elements(checked_astype(slice, dtype, name), {0, part.columns}, transpose, rows, columns,
                    out, to);
    }
    outputs += part.columns;
  }
  return out;
}

}  // namespace axle

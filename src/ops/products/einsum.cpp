#include "ops/products/einsum.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"
#include "ops/rules.h"

namespace axle {
namespace {

bool has(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}
int64_t position(const Labels& labels, int label) {
  return std::ranges::find(labels, label) - labels.begin();
}

// Sums over the dims whose labels are neither in `out` nor in `other`.
Tensor sum_unwanted(const Tensor& x, Labels& labels, const Labels& out, const Labels& other) {
  std::vector<int64_t> summed;
  Labels kept;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (has(out, labels[i]) || has(other, labels[i]))
      kept.push_back(labels[i]);
    else
      summed.push_back(static_cast<int64_t>(i));
  }
  labels = std::move(kept);
  return summed.empty() ? x : reduce_sum(x, summed);
}

Tensor transpose_to(const Tensor& x, const Labels& labels, const Labels& out) {
  if (labels == out) return x;
  std::vector<int64_t> perm;
  for (const int label : out) perm.push_back(position(labels, label));
  return transpose(x, perm);
}

// Returns the labels in the order of dot_general's result: batch labels, then the labels of the
// first operand only, then the labels of the second operand only.
Labels natural_order(const Labels& first, const Labels& second, const Labels& out) {
  Labels order;
  for (const int l : out) {
    if (has(first, l) && has(second, l)) order.push_back(l);
  }
  for (const int l : first) {
    if (!has(second, l)) order.push_back(l);
  }
  for (const int l : second) {
    if (!has(first, l)) order.push_back(l);
  }
  return order;
}

// An einsum spec such as "btd,dnh->btnh", split at its commas and its arrow.
struct Spec {
  std::vector<std::string> operands;
  std::string result;
};

[[noreturn]] void fail(std::string_view spec, const std::string& what,
                       const Values& operands = {}) {
  shape_error(fmt::format("einsum \"{}\"", spec), what, operands);
}

Spec parse(std::string_view spec) {
  Spec out;
  std::string text;
  std::ranges::copy_if(spec, std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos) fail(spec, "expected '->' and the dims of the result");
  out.result = text.substr(arrow + 2);
  std::string operands = text.substr(0, arrow);
  for (size_t comma; (comma = operands.find(',')) != std::string::npos;
       operands.erase(0, comma + 1)) {
    out.operands.push_back(operands.substr(0, comma));
  }
  out.operands.push_back(operands);
  return out;
}

// Letters are their own labels. The dims of "..." have labels from kEllipsis on, counted from the
// last of these dims.
constexpr int kEllipsis = 256;

Labels labels_of(std::string_view spec, const std::string& term, int64_t num_ellipsis) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (int64_t e = num_ellipsis; e-- > 0;) labels.push_back(kEllipsis + static_cast<int>(e));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      if (has(labels, term[i])) fail(spec, fmt::format("'{}' occurs twice in '{}'", term[i], term));
      labels.push_back(term[i]);
    } else {
      fail(spec, fmt::format("expected letters or '...', got '{}'", term[i]));
    }
  }
  return labels;
}

Labels operand_labels(std::string_view spec, const std::string& term, const Tensor& x,
                      int64_t& max_ellipsis) {
  const bool open = term.find("...") != std::string::npos;
  const int64_t named = static_cast<int64_t>(term.size()) - (open ? 3 : 0);
  if (x.rank() < named || (!open && x.rank() != named)) {
    fail(spec, fmt::format("'{}' names {} dims, got {}", term, named, x.rank()), {x});
  }
  max_ellipsis = std::max(max_ellipsis, x.rank() - named);
  return labels_of(spec, term, x.rank() - named);
}

std::string letter(int label) {
  return label < kEllipsis ? std::string(1, static_cast<char>(label))
                           : fmt::format("... -{}", label - kEllipsis + 1);
}

Labels result_labels(std::string_view spec, const std::string& term, int64_t num_ellipsis,
                     const Labels& a, const Labels& b) {
  const Labels out = labels_of(spec, term, num_ellipsis);
  for (const int l : out) {
    if (!has(a, l) && !has(b, l))
      fail(spec, fmt::format("'{}' of the result is in no operand", letter(l)));
  }
  return out;
}

}  // namespace

Tensor contract(const Tensor& a, const Labels& a_labels, const Tensor& b, const Labels& b_labels,
                const Labels& out, const DotOptions& options) {
  Labels la = a_labels, lb = b_labels;
  Tensor first = sum_unwanted(a, la, out, lb);
  Tensor second = sum_unwanted(b, lb, out, la);
  if (natural_order(la, lb, out) != out && natural_order(lb, la, out) == out) {
    std::swap(first, second);
    std::swap(la, lb);
  }
  DotDims dims;
  for (const int l : out) {
    if (!has(la, l) || !has(lb, l)) continue;
    dims.a_batch.push_back(position(la, l));
    dims.b_batch.push_back(position(lb, l));
  }
  for (const int l : la) {
    if (has(out, l) || !has(lb, l)) continue;
    dims.a_contracting.push_back(position(la, l));
    dims.b_contracting.push_back(position(lb, l));
  }
  return transpose_to(dot_general(first, second, dims, options), natural_order(la, lb, out), out);
}

Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b, const DotOptions& options) {
  const Spec terms = parse(spec);
  if (terms.operands.size() != 2)
    fail(spec, fmt::format("expected {} operands, got 2", terms.operands.size()));
  int64_t num_ellipsis = 0;
  const Labels la = operand_labels(spec, terms.operands[0], a, num_ellipsis);
  const Labels lb = operand_labels(spec, terms.operands[1], b, num_ellipsis);
  for (const int l : la) {
    if (has(lb, l) && a.dim(position(la, l)) != b.dim(position(lb, l))) {
      fail(spec,
           fmt::format("the sizes of '{}' differ, {} and {}", letter(l), a.dim(position(la, l)),
                       b.dim(position(lb, l))),
           {a, b});
    }
  }
  return contract(a, la, b, lb, result_labels(spec, terms.result, num_ellipsis, la, lb), options);
}

Tensor einsum(std::string_view spec, const Tensor& a) {
  const Spec terms = parse(spec);
  if (terms.operands.size() != 1)
    fail(spec, fmt::format("expected {} operands, got 1", terms.operands.size()));
  int64_t num_ellipsis = 0;
  Labels labels = operand_labels(spec, terms.operands[0], a, num_ellipsis);
  const Labels out = result_labels(spec, terms.result, num_ellipsis, labels, {});
  const Tensor summed = sum_unwanted(a, labels, out, {});
  return transpose_to(summed, labels, out);
}

}  // namespace axle

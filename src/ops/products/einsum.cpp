#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/unicode.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
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

// An operand and one label for each of its dims.
struct Term {
  Tensor value;
  Labels labels;
  bool is_product = false;
};

// Takes the diagonals of dims with one label, so that each label is there once.
void take_diagonals(Term& term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const int label = term.labels[i];
    while (std::ranges::count(term.labels, label) > 1) {
      const auto first = std::ranges::find(term.labels, label);
      const auto second = std::find(first + 1, term.labels.end(), label);
      const int64_t at = first - term.labels.begin(), other = second - term.labels.begin();
      term.value = move_axis(diagonal(move_axis(move_axis(term.value, other, -1), at, -2)), -1, at);
      term.labels.erase(second);
    }
  }
}

// A call of einsum: a spec such as "btd,dnh->btnh", split at its commas and its arrow, and the
// operands. Errors name both.
class Call {
 public:
  // Finding an order takes time that grows with the fourth power of the number.
  static constexpr size_t kMostOperands = 128;

  Call(std::string_view spec, Values operands) : spec_(spec), operands_(std::move(operands)) {
    std::string text;
    std::ranges::copy_if(spec, std::back_inserter(text), [](char c) { return c != ' '; });
    const size_t arrow = text.find("->");
    if (arrow != std::string::npos) result_ = text.substr(arrow + 2);
    const std::string left = text.substr(0, arrow);
    for (const std::string_view term : split(left, ',')) terms_.emplace_back(term);
    if (terms_.size() != operands_.size()) {
      fail(fmt::format("expected {}, got {}", counted(std::ssize(terms_), "operand"),
                       operands_.size()));
    }
    if (terms_.size() > kMostOperands)
      fail(fmt::format("expected at most {} operands, got {}", kMostOperands, terms_.size()));
    for (size_t i = 0; i < terms_.size(); ++i) labels_.push_back(operand_labels(i));
    find_sizes();
  }

  // The operands, in which each label is once and all sizes of a label are equal.
  std::vector<Term> terms() const {
    std::vector<Term> out;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Term term{.value = operands_[i], .labels = labels_[i]};
      take_diagonals(term);
      drop_repeated(term);
      out.push_back(std::move(term));
    }
    return out;
  }

  // The labels of the result, each of which is in an operand.
  Labels result() const {
    if (!result_) return implicit_result();
    const Labels out = labels_of(*result_, num_ellipsis_);
    for (size_t i = 0; i < out.size(); ++i) {
      if (!sizes_.contains(out[i]))
        fail(fmt::format("'{}' of the result is in no operand", letter(out[i])));
      if (std::count(out.begin(), out.begin() + static_cast<ptrdiff_t>(i), out[i]))
        fail(fmt::format("'{}' occurs twice in the result '{}'", letter(out[i]), *result_));
    }
    return out;
  }

  int64_t size(int label) const { return sizes_.at(label).size; }

 private:
  // Letters are their own labels. The dims of "..." have labels from kEllipsis on, counted from the
  // last of these dims.
  static constexpr int kEllipsis = 256;
  struct Size {
    int64_t size;
    size_t operand;
  };

  [[noreturn]] void fail(const std::string& what) const {
    shape_error(fmt::format("einsum \"{}\"", spec_), what, operands_);
  }
  static std::string letter(int label) {
    return label < kEllipsis ? std::string(1, static_cast<char>(label))
                             : fmt::format("... -{}", label - kEllipsis + 1);
  }

  Labels labels_of(const std::string& term, int64_t num_ellipsis) const {
    Labels labels;
    bool is_open = false;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        if (is_open) fail(fmt::format("expected one '...' in '{}', got two", term));
        is_open = true;
        for (int64_t e = num_ellipsis; e-- > 0;) labels.push_back(kEllipsis + static_cast<int>(e));
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
        labels.push_back(term[i]);
      } else {
        const std::string_view rest = std::string_view(term).substr(i);
        fail(fmt::format("expected letters or '...' in '{}', got '{}'", term,
                         printable(rest.substr(0, utf8_step(rest).size))));
      }
    }
    return labels;
  }

  Labels operand_labels(size_t i) {
    const std::string& term = terms_[i];
    const int64_t rank = operands_[i].rank();
    const bool is_open = term.find("...") != std::string::npos;
    const auto named = static_cast<int64_t>(labels_of(term, 0).size());
    if (rank < named || (!is_open && rank != named)) {
      fail(fmt::format("'{}' names {}{} of operand {}, got {}", term, counted(named, "dim"),
                       is_open ? " or more" : "", i, rank));
    }
    num_ellipsis_ = std::max(num_ellipsis_, rank - named);
    return labels_of(term, rank - named);
  }

  void find_sizes() {
    for (size_t i = 0; i < operands_.size(); ++i) {
      for (size_t d = 0; d < labels_[i].size(); ++d) {
        const int label = labels_[i][d];
        const int64_t size = operands_[i].shape()[d];
        const auto [at, is_new] = sizes_.emplace(label, Size{size, i});
        if (is_new || at->second.size == size || (label >= kEllipsis && size == 1)) continue;
        if (label >= kEllipsis && at->second.size == 1) {
          at->second = {size, i};
          continue;
        }
        fail(
            fmt::format("the sizes of '{}' differ, {} in operand {} ('{}') and {} in operand {} "
                        "('{}')",
                        letter(label), at->second.size, at->second.operand,
                        terms_[at->second.operand], size, i, terms_[i]));
      }
    }
  }

  // Removes the dims of size 1 that another operand repeats.
  void drop_repeated(Term& term) const {
    Shape shape;
    Labels labels;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      const int64_t of_operand = term.value.shape()[d];
      if (of_operand != size(term.labels[d])) continue;
      shape.push_back(of_operand);
      labels.push_back(term.labels[d]);
    }
    if (labels.size() == term.labels.size()) return;
    term = {.value = reshape(term.value, shape), .labels = std::move(labels)};
  }

  Labels implicit_result() const {
    Labels out = labels_of("...", num_ellipsis_);
    for (const auto& [label, unused] : sizes_) {
      int64_t count = 0;
      for (const Labels& in : labels_) count += std::ranges::count(in, label);
      if (label < kEllipsis && count == 1) out.push_back(label);
    }
    return out;
  }

  std::string_view spec_;
  Values operands_;
  std::vector<std::string> terms_;
  std::optional<std::string> result_;  // none: implicit
  std::vector<Labels> labels_;
  std::map<int, Size> sizes_;  // by label
  int64_t num_ellipsis_ = 0;
};

// The products of all operands, two at a time.
class Products {
 public:
  Products(const Call& call, Labels result, DotOptions options)
      : call_(call), terms_(call.terms()), result_(std::move(result)), options_(options) {}

  Tensor compute() {
    if (terms_.size() == 1) return only();
    while (terms_.size() > kMaxOptimal) multiply(next_best());
    if (terms_.size() > 2) {
      for (const Pair& pair : best_order()) multiply(pair);
    } else {
      multiply({0, 1});
    }
    return terms_[0].value;
  }

 private:
  // An optimal order takes 3^n steps for n operands.
  static constexpr size_t kMaxOptimal = 8;
  struct Pair {
    size_t first, second;
  };
  using Subset = uint32_t;  // of the operands

  // Sums and transposes one operand.
  Tensor only() const {
    Term term = terms_[0];
    const DType dtype = options_.result_dtype.value_or(term.value.dtype());
    if (is_wider(dtype, term.value.dtype())) term.value = astype(term.value, dtype);
    const Tensor summed = sum_unwanted(term.value, term.labels, result_, {});
    return astype(transpose_to(summed, term.labels, result_), dtype);
  }

  static bool is_wider(DType a, DType b) { return size_bytes(a) > size_bytes(b); }

  // Labels of operands `in` that the result or another operand needs, in the order of operands.
  Labels needed(const std::vector<const Labels*>& in,
                const std::vector<const Labels*>& others) const {
    Labels out;
    for (const Labels* labels : in) {
      for (const int l : *labels) {
        const auto has_it = [l](const Labels* other) { return has(*other, l); };
        if (!has(out, l) && (has(result_, l) || std::ranges::any_of(others, has_it)))
          out.push_back(l);
      }
    }
    return out;
  }

  double elements(const Labels& labels) const {
    double out = 1;
    for (const int l : labels) out *= static_cast<double>(call_.size(l));
    return out;
  }
  // The number of multiplications of a product of operands with these labels.
  double cost(const Labels& a, const Labels& b) const {
    Labels all = a;
    std::ranges::copy_if(b, std::back_inserter(all), [&](int l) { return !has(a, l); });
    return elements(all);
  }

  // Replaces two operands by their product, at the position of the first.
  void multiply(const Pair& pair) {
    Term &a = terms_[pair.first], &b = terms_[pair.second];
    std::vector<const Labels*> others;
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (i != pair.first && i != pair.second) others.push_back(&terms_[i].labels);
    }
    const bool is_last = others.empty();
    DotOptions options = options_;
    if (!is_last) {
      const bool is_wide = options.result_dtype && is_wider(*options.result_dtype, a.value.dtype());
      if (!is_wide && a.value.dtype() == b.value.dtype()) options.result_dtype.reset();
    }
    if (a.is_product && !b.is_product) b.value = astype(b.value, a.value.dtype());
    if (b.is_product && !a.is_product) a.value = astype(a.value, b.value.dtype());
    const Labels out = is_last ? result_ : needed({&a.labels, &b.labels}, others);
    a = {.value = contract(a.value, a.labels, b.value, b.labels, out, options),
         .labels = out,
         .is_product = true};
    terms_.erase(terms_.begin() + static_cast<ptrdiff_t>(pair.second));
  }

  // The pair whose product is the smallest, compared with its operands; of several, the cheapest.
  Pair next_best() const {
    Pair best{0, 1};
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::pair<double, double> least{kInfinity, kInfinity};
    for (size_t i = 0; i < terms_.size(); ++i) {
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        std::vector<const Labels*> others;
        for (size_t k = 0; k < terms_.size(); ++k) {
          if (k != i && k != j) others.push_back(&terms_[k].labels);
        }
        const Labels &a = terms_[i].labels, &b = terms_[j].labels;
        const std::pair<double, double> score{
            elements(needed({&a, &b}, others)) - elements(a) - elements(b), cost(a, b)};
        if (score < least) least = score, best = {i, j};
      }
    }
    return best;
  }

  // The order of the fewest multiplications: for each subset of the operands the best split in two.
  std::vector<Pair> best_order() const {
    const size_t n = terms_.size();
    const Subset all = (Subset{1} << n) - 1;
    std::vector<Labels> labels(all + 1);
    std::vector<double> costs(all + 1, std::numeric_limits<double>::infinity());
    std::vector<Subset> splits(all + 1);
    for (Subset set = 1; set <= all; ++set) {
      std::vector<const Labels*> in, others;
      for (size_t i = 0; i < n; ++i) (set >> i & 1 ? in : others).push_back(&terms_[i].labels);
      labels[set] = in.size() == 1 ? *in[0] : needed(in, others);
      if (in.size() == 1) costs[set] = 0;
      // Of equal costs the last counts, which multiplies the operands from left to right.
      for (Subset part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        const Subset rest = set & ~part;
        if (part < rest) break;
        const double total = costs[part] + costs[rest] + cost(labels[part], labels[rest]);
        if (total <= costs[set]) costs[set] = total, splits[set] = rest;
      }
    }
    std::vector<Pair> out;
    std::vector<Subset> live;  // the subset that each operand of the moment stands for
    for (size_t i = 0; i < n; ++i) live.push_back(Subset{1} << i);
    emit_order(all, splits, live, out);
    return out;
  }
  static void emit_order(Subset set, const std::vector<Subset>& splits, std::vector<Subset>& live,
                         std::vector<Pair>& out) {
    if (!splits[set]) return;
    const Subset rest = splits[set], part = set & ~rest;
    emit_order(rest, splits, live, out);
    emit_order(part, splits, live, out);
    const auto place = [&](Subset of) {
      return static_cast<size_t>(std::ranges::find(live, of) - live.begin());
    };
    const size_t first = std::min(place(rest), place(part)),
                 second = std::max(place(rest), place(part));
    out.push_back({first, second});
    live[first] = set;
    live.erase(live.begin() + static_cast<ptrdiff_t>(second));
  }

  const Call& call_;
  std::vector<Term> terms_;
  Labels result_;
  DotOptions options_;
};

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

Tensor einsum(std::string_view spec, const Values& operands, const DotOptions& options) {
  const Call call(spec, operands);
  return Products(call, call.result(), options).compute();
}

Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b, const DotOptions& options) {
  return einsum(spec, Values{a, b}, options);
}

Shape einsum_shape(std::string_view spec, const Values& operands) {
  const Call call(spec, operands);
  Shape shape;
  for (const int label : call.result()) shape.push_back(call.size(label));
  return shape;
}

Tensor einsum(std::string_view spec, const Tensor& a) { return einsum(spec, Values{a}); }

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1) shape_error("outer", "expected vectors", {a, b});
  return expand_dims(a, 1) * expand_dims(b, 0);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  if (a.rank() != 2 || b.rank() != 2) shape_error("kron", "expected matrices", {a, b});
  return reshape(reshape(a, {a.dim(0), 1, a.dim(1), 1}) * reshape(b, {1, b.dim(0), 1, b.dim(1)}),
                 {a.dim(0) * b.dim(0), a.dim(1) * b.dim(1)});
}

}  // namespace axle

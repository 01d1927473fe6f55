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

// A call of einsum: a spec such as "btd,dnh->btnh", split at its commas and its arrow, and the
// operands. Errors name both.
class Call {
 public:
  Call(std::string_view spec, Values operands) : spec_(spec), operands_(std::move(operands)) {
    std::string text;
    std::ranges::copy_if(spec, std::back_inserter(text), [](char c) { return c != ' '; });
    const size_t arrow = text.find("->");
    if (arrow == std::string::npos) fail("expected '->' and the dims of the result");
    result_ = text.substr(arrow + 2);
    std::string left = text.substr(0, arrow);
    for (size_t comma; (comma = left.find(',')) != std::string::npos; left.erase(0, comma + 1))
      terms_.push_back(left.substr(0, comma));
    terms_.push_back(left);
    if (terms_.size() != operands_.size())
      fail(fmt::format("expected {} operands, got {}", terms_.size(), operands_.size()));
    for (size_t i = 0; i < terms_.size(); ++i) labels_.push_back(operand_labels(i));
  }

  // The labels of operand i.
  const Labels& operator[](size_t i) const { return labels_[i]; }

  // The labels of the result, each of which is in an operand.
  Labels result() const {
    const Labels out = labels_of(result_, num_ellipsis_);
    for (const int l : out) {
      if (std::ranges::none_of(labels_, [l](const Labels& in) { return has(in, l); }))
        fail(fmt::format("'{}' of the result is in no operand", letter(l)));
    }
    return out;
  }

  [[noreturn]] void fail(const std::string& what) const {
    shape_error(fmt::format("einsum \"{}\"", spec_), what, operands_);
  }

  static std::string letter(int label) {
    return label < kEllipsis ? std::string(1, static_cast<char>(label))
                             : fmt::format("... -{}", label - kEllipsis + 1);
  }

 private:
  // Letters are their own labels. The dims of "..." have labels from kEllipsis on, counted from the
  // last of these dims.
  static constexpr int kEllipsis = 256;

  Labels labels_of(const std::string& term, int64_t num_ellipsis) const {
    Labels labels;
    for (size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        for (int64_t e = num_ellipsis; e-- > 0;) labels.push_back(kEllipsis + static_cast<int>(e));
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
        if (has(labels, term[i])) fail(fmt::format("'{}' occurs twice in '{}'", term[i], term));
        labels.push_back(term[i]);
      } else {
        fail(fmt::format("expected letters or '...', got '{}'", term[i]));
      }
    }
    return labels;
  }

  Labels operand_labels(size_t i) {
    const std::string& term = terms_[i];
    const int64_t rank = operands_[i].rank();
    const bool open = term.find("...") != std::string::npos;
    const int64_t named = static_cast<int64_t>(term.size()) - (open ? 3 : 0);
    if (rank < named || (!open && rank != named))
      fail(fmt::format("'{}' names {} dims, got {}", term, named, rank));
    num_ellipsis_ = std::max(num_ellipsis_, rank - named);
    return labels_of(term, rank - named);
  }

  std::string_view spec_;
  Values operands_;
  std::vector<std::string> terms_;
  std::string result_;
  std::vector<Labels> labels_;
  int64_t num_ellipsis_ = 0;
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

Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b, const DotOptions& options) {
  const Call call(spec, {a, b});
  for (const int l : call[0]) {
    if (!has(call[1], l)) continue;
    const int64_t p = a.dim(position(call[0], l)), q = b.dim(position(call[1], l));
    if (p != q)
      call.fail(fmt::format("the sizes of '{}' differ, {} and {}", Call::letter(l), p, q));
  }
  return contract(a, call[0], b, call[1], call.result(), options);
}

Tensor einsum(std::string_view spec, const Tensor& a) {
  const Call call(spec, {a});
  Labels labels = call[0];
  const Labels out = call.result();
  const Tensor summed = sum_unwanted(a, labels, out, {});
  return transpose_to(summed, labels, out);
}

}  // namespace axle

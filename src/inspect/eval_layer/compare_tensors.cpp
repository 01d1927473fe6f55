#include "inspect/eval_layer/compare_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "config/document/codec.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_layer/given_tensors.h"
#include "io/file.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDefaultTolerance = 1e-5;
constexpr double kCancelled = 1e-4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest_in(const HostTensor& x) {
  double out = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x.at(i))) out = std::max(out, std::abs(x.at(i)));
  }
  return out;
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : kInfinity;
}

bool are_integers(const HostTensor& a, const HostTensor& b) {
  return is_integer(a.dtype()) && is_integer(b.dtype());
}

// Returns the difference of two integers; 0 only if they are equal. Differences of doubles would
// not be exact: they round integers beyond 2^53.
double exact_difference(const Scalar& a, const Scalar& b) {
  const auto x = a.as<uint64_t>(), y = b.as<uint64_t>();  // two's complement
  const bool x_below = !a.fits(DType::kU64), y_below = !b.fits(DType::kU64);
  if (x_below == y_below) return static_cast<double>(x > y ? x - y : y - x);
  return x_below ? static_cast<double>(-x) + static_cast<double>(y)
                 : static_cast<double>(x) + static_cast<double>(-y);
}

double largest_difference(const HostTensor& a, const HostTensor& b) {
  const bool exact = are_integers(a, b);
  double out = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    out = std::max(
        out, exact ? exact_difference(a.element(i), b.element(i)) : difference(a.at(i), b.at(i)));
  }
  return out;
}

// True for values that layers record beside their result. Implementations differ in what they
// record.
bool is_beside(std::string_view name) {
  constexpr std::string_view kSections[] = {"summaries/", "aux_losses/", "outputs/",
                                            "module_outputs/"};
  return std::ranges::any_of(kSections, [&](auto section) { return name.starts_with(section); });
}

// Returns "a, b, c, ...".
std::string first_of(std::vector<std::string> names) {
  constexpr size_t kMaxNames = 3;
  if (names.size() > kMaxNames) names.resize(kMaxNames), names.push_back("...");
  return join(names, ", ");
}

// Returns "3 differ (a, b, c)" for the tensors with this verdict; empty if there are none.
std::string counted(const std::vector<ComparedTensor>& tensors, Verdict verdict,
                    std::string_view what) {
  std::vector<std::string> names;
  for (const ComparedTensor& t : tensors) {
    if (t.verdict == verdict) names.push_back(t.name);
  }
  return names.empty() ? "" : fmt::format("{} {} ({})", names.size(), what, first_of(names));
}

class Comparer {
 public:
  Comparer(const Tree<HostTensor>& results, const TensorReference& reference,
           const RenameRules& rules)
      : results_(results),
        reference_(reference),
        rules_(rules),
        not_compared_(reference.not_compared) {}

  TensorComparison compare(const Tolerances& tolerances) {
    TensorComparison out{
        .reference = reference_.path, .tensors = {}, .not_compared = {}, .only_in_results = {}};
    std::vector<std::pair<std::string, std::string>> pairs;  // theirs, ours
    for (const auto& [theirs, named] : reference_.names) {
      if (const auto ours = find(theirs, named)) pairs.emplace_back(theirs, *ours);
    }
    Tree<HostTensor> expected;
    double largest_gradient = 0;
    for (const auto& [theirs, ours] : pairs) {
      const HostTensor& value =
          expected.emplace(theirs, read_tensor(reference_.file, theirs)).first->second;
      if (ours.starts_with("grad/"))
        largest_gradient = std::max(largest_gradient, largest_in(value));
    }
    for (const auto& [theirs, ours] : pairs) {
      out.tensors.push_back(
          compare(theirs, ours, expected.at(theirs), largest_gradient, tolerances.of(theirs)));
      compared_.emplace(ours, true);
    }
    if (pairs.empty()) {
      throw ConfigError(fmt::format("{}: expected results to compare with ({}), got none",
                                    reference_.path,
                                    results_.empty() ? "any" : results_.begin()->first + ", ..."));
    }
    for (const auto& [reason, count] : not_compared_)
      out.not_compared.push_back(fmt::format("{} ({})", reason, count));
    for (const auto& [name, value] : results_) {
      if (!compared_.contains(name)) out.only_in_results.push_back(name);
    }
    return out;
  }

 private:
  // Returns our name of the reference's tensor `theirs`; none if it is not compared.
  std::optional<std::string> find(const std::string& theirs, const std::string& named) {
    const auto ours = renamed(theirs, named);
    if (!ours) return std::nullopt;
    if (results_.contains(*ours)) return ours;
    if (*ours == "out" && results_.contains("out/loss")) return "out/loss";
    if (is_beside(*ours)) {
      ++not_compared_["values that the reference's layers record and Axle's do not"];
      return std::nullopt;
    }
    return ours;
  }

  // If no rule matches, a name that is already ours is kept: Axle may have written the reference.
  std::optional<std::string> renamed(const std::string& theirs, const std::string& named) const {
    try {
      return rules_.tensor(theirs);
    } catch (const ConfigError&) {
      if (results_.contains(named)) return named;
      throw;
    }
  }

  ComparedTensor compare(const std::string& theirs, const std::string& ours,
                         const HostTensor& expected, double largest_gradient,
                         double tolerance) const {
    ComparedTensor out{.name = theirs,
                       .verdict = Verdict::kMissing,
                       .expected = to_text(expected.type()),
                       .got = {},
                       .max_abs = kInfinity,
                       .max_rel = kInfinity,
                       .tolerance = tolerance};
    const auto it = results_.find(ours);
    if (it == results_.end()) return out;
    const HostTensor got = as_scalar_like(it->second, expected.shape());
    out.got = to_text(got.type());
    out.verdict = Verdict::kOtherShape;
    if (got.shape() != expected.shape()) return out;

    double scale = largest_in(expected);
    if (ours.starts_with("grad/") && scale < kCancelled * largest_gradient)
      scale = largest_gradient;
    if (are_integers(got, expected)) out.tolerance = 0;
    out.max_abs = largest_difference(got, expected);
    out.max_rel = out.max_abs == 0 ? 0 : out.max_abs / scale;
    out.verdict = out.max_rel <= out.tolerance ? Verdict::kAgrees : Verdict::kDiffers;
    return out;
  }

  const Tree<HostTensor>& results_;
  const TensorReference& reference_;
  const RenameRules& rules_;
  std::map<std::string, int> not_compared_;  // number of tensors by reason
  Tree<bool> compared_;
};

}  // namespace

Tolerances::Tolerances(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::string number = equals == text.npos ? text : text.substr(equals + 1);
    double tolerance;
    try {
      tolerance = Codec<double>::parse(number);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("--tolerance: {}", error.what()));
    }
    if (!std::isfinite(tolerance) || tolerance < 0) {
      throw ConfigError(fmt::format(
          "--tolerance: expected a finite number that is not negative, got {}", number));
    }
    const std::string pattern = equals == text.npos ? "**" : text.substr(0, equals);
    rows_.push_back({pattern, PathPattern(pattern), tolerance});
  }
}

double Tolerances::of(std::string_view name) const {
  double out = kDefaultTolerance;
  for (const Row& row : rows_) {
    if (row.pattern.matches(name)) out = row.tolerance;
  }
  return out;
}

void Tolerances::check_matches(const SafetensorsFile& file, const std::string& path) const {
  const std::vector<std::string> names = file.names();
  for (const Row& row : rows_) {
    if (std::ranges::any_of(names, [&](const auto& name) { return row.pattern.matches(name); }))
      continue;
    throw ConfigError(fmt::format(
        "--tolerance: expected a pattern that matches a tensor of {}, got '{}'", path, row.text));
  }
}

bool TensorComparison::agrees() const {
  return std::ranges::all_of(tensors,
                             [](const ComparedTensor& t) { return t.verdict == Verdict::kAgrees; });
}

std::string TensorComparison::summary() const {
  std::vector<std::string> parts;
  for (const auto& [verdict, what] : {std::pair(Verdict::kDiffers, "differ"),
                                      {Verdict::kOtherShape, "of another shape"},
                                      {Verdict::kMissing, "missing"}}) {
    if (std::string part = counted(tensors, verdict, what); !part.empty())
      parts.push_back(std::move(part));
  }
  const std::string all =
      fmt::format("{} tensor{}", tensors.size(), tensors.size() == 1 ? "" : "s");
  if (parts.empty()) return fmt::format("{}: {} agree", reference, all);
  return fmt::format("{}: expected {} to agree, got {}", reference, all, join(parts, ", "));
}

std::string to_text(const TensorComparison& c) {
  TextTable table({"tensor", "type", "max abs", "max rel", "tolerance", "verdict"});
  for (const ComparedTensor& t : c.tensors) {
    std::string verdict = to_text(t.verdict);
    if (t.verdict == Verdict::kOtherShape) verdict += ": " + t.got;
    const bool is_number = t.verdict == Verdict::kAgrees || t.verdict == Verdict::kDiffers;
    table.add({t.name, t.expected, is_number ? fmt::format("{:.3g}", t.max_abs) : "-",
               is_number ? fmt::format("{:.3g}", t.max_rel) : "-", fmt::format("{:g}", t.tolerance),
               std::move(verdict)});
  }
  std::string out = table.text();
  for (const std::string& line : c.not_compared) out += "not compared: " + line + "\n";
  if (!c.only_in_results.empty())
    out += fmt::format("not in the reference: {} ({})\n", c.only_in_results.size(),
                       first_of(c.only_in_results));
  return out;
}

Json to_json(const TensorComparison& c) {
  Json out = {{"reference", c.reference}, {"agrees", c.agrees()}, {"tensors", Json::array()}};
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  for (const ComparedTensor& t : c.tensors) {
    out["tensors"].push_back({{"name", t.name},
                              {"verdict", to_text(t.verdict)},
                              {"expected", t.expected},
                              {"got", t.got.empty() ? Json(nullptr) : Json(t.got)},
                              {"max_abs", number(t.max_abs)},
                              {"max_rel", number(t.max_rel)},
                              {"tolerance", t.tolerance}});
  }
  out["not_compared"] = c.not_compared;
  out["not_in_reference"] = c.only_in_results;
  return out;
}

TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const SkipReasonOf& skip_reason_of) {
  TensorReference out{
      .path = path, .file = open_tensor_file(path), .names = {}, .not_compared = {}};
  for (const std::string& theirs : out.file.names()) {
    const auto named = rules.section_name(theirs);
    if (!named) continue;
    if (const std::string reason = skip_reason_of(*named); !reason.empty()) {
      ++out.not_compared[reason];
      continue;
    }
    if (!is_beside(*named)) storage_error_as<DataError>([&] { return out.file.type(theirs); });
    out.names.emplace(theirs, *named);
  }
  if (out.names.empty())
    throw ConfigError(fmt::format("{}: expected results to compare with, got none", path));
  return out;
}

TensorComparison compare_tensors(const Tree<HostTensor>& results, const TensorReference& reference,
                                 const RenameRules& rules, const Tolerances& tolerances) {
  return Comparer(results, reference, rules).compare(tolerances);
}

}  // namespace axle

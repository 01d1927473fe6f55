#include "train/config/microbatches.h"

#include <algorithm>
#include <set>

#include "config/walk.h"
#include "learn/learner.h"

namespace axle {
namespace {

constexpr const char* kCount = "learner.microbatches";
constexpr const char* kDeviceRows = "learner.device_rows";

}  // namespace

Microbatches train_microbatches(const Trainer::Config& config, const Mesh& mesh) {
  Microbatches out{.rows = whole_number(config, "input.batch_size"),
                   .shares = num_row_shares(config.batch_partition, mesh),
                   .count = std::max<int64_t>(whole_number(config, kCount), 1)};
  const int64_t at_once = whole_number(config, kDeviceRows);
  if (out.count == 1 && at_once > 0 && out.rows > 0)
    out.count = fewest_microbatches(out.rows, out.shares, at_once);
  return out;
}

Microbatches evaluation_microbatches(const Trainer::Config& config, const std::string& name,
                                     const Mesh& mesh) {
  Microbatches out = train_microbatches(config, mesh);
  if (const int64_t own = whole_number(config, name + ".input.batch_size")) out.rows = own;
  const int64_t at_once = whole_number(config, kDeviceRows);
  out.count = at_once > 0 && out.rows > 0 ? fewest_microbatches(out.rows, out.shares, at_once) : 1;
  return out;
}

std::vector<int64_t> finer_microbatches(const Microbatches& batch) {
  if (batch.rows % batch.shares != 0) return {};
  const int64_t rows = batch.rows / batch.shares;
  std::set<int64_t> divisors;
  for (int64_t n = 1; n <= rows / n; ++n) {
    if (rows % n == 0) divisors.insert({n, rows / n});
  }
  return {divisors.upper_bound(batch.count), divisors.end()};
}

int64_t evaluation_rows(const Microbatches& evaluation,
                        const std::function<bool(double share)>& fits) {
  const int64_t now = evaluation.rows / evaluation.count;
  for (int halvings = 1;; ++halvings) {
    const int64_t rows = fewer_rows({.rows = now, .shares = evaluation.shares}, halvings);
    if (rows == 0 || fits(static_cast<double>(rows) / static_cast<double>(now))) return rows;
  }
}

int64_t fewer_rows(const Microbatches& batch, int halvings) {
  return (batch.rows / batch.shares >> halvings) * batch.shares;
}

std::pair<std::string, int64_t> microbatch_field(const Trainer::Config& config,
                                                 const Microbatches& batch, int64_t count) {
  if (whole_number(config, kCount) > 1) return {kCount, count};
  return {kDeviceRows, batch.rows / count / batch.shares};
}

}  // namespace axle

#include "train/batch_parts.h"

#include <algorithm>
#include <set>

#include "config/find_slot.h"
#include "learn/learner.h"

namespace axle {
namespace {

constexpr const char* kParts = "learner.microbatches";
constexpr const char* kDeviceRows = "learner.device_rows";

}  // namespace

int64_t num_row_shares(const PartitionSpec& batch_partition, const Mesh& mesh) {
  if (batch_partition.dims.empty()) return 1;
  return num_parts(restrict(batch_partition, mesh).dims[0], mesh);
}

BatchParts batch_parts(const Trainer::Config& config, const Mesh& mesh) {
  BatchParts out{.rows = whole_number(config, "input.batch_size"),
                 .shares = num_row_shares(config.batch_partition, mesh),
                 .parts = std::max<int64_t>(whole_number(config, kParts), 1)};
  const int64_t at_once = whole_number(config, kDeviceRows);
  if (out.parts == 1 && at_once > 0 && out.rows > 0)
    out.parts = fewest_microbatches(out.rows, out.shares, at_once);
  return out;
}

BatchParts evaluation_parts(const Trainer::Config& config, const std::string& name,
                            const Mesh& mesh) {
  BatchParts out = batch_parts(config, mesh);
  if (const int64_t own = whole_number(config, name + ".input.batch_size")) out.rows = own;
  const int64_t at_once = whole_number(config, kDeviceRows);
  out.parts = at_once > 0 && out.rows > 0 ? fewest_microbatches(out.rows, out.shares, at_once) : 1;
  return out;
}

std::vector<int64_t> finer_parts(const BatchParts& batch) {
  if (batch.rows % batch.shares != 0) return {};
  const int64_t rows = batch.rows / batch.shares;
  std::set<int64_t> divisors;
  for (int64_t n = 1; n <= rows / n; ++n) {
    if (rows % n == 0) divisors.insert({n, rows / n});
  }
  return {divisors.upper_bound(batch.parts), divisors.end()};
}

int64_t evaluation_rows(const BatchParts& evaluation,
                        const std::function<bool(double share)>& fits) {
  const int64_t now = evaluation.rows / evaluation.parts;
  for (int halvings = 1;; ++halvings) {
    const int64_t rows = fewer_rows({.rows = now, .shares = evaluation.shares}, halvings);
    if (rows == 0 || fits(static_cast<double>(rows) / static_cast<double>(now))) return rows;
  }
}

int64_t fewer_rows(const BatchParts& batch, int halvings) {
  return (batch.rows / batch.shares >> halvings) * batch.shares;
}

std::pair<std::string, int64_t> field_of_parts(const Trainer::Config& config,
                                               const BatchParts& batch, int64_t parts) {
  if (whole_number(config, kParts) > 1) return {kParts, parts};
  return {kDeviceRows, batch.rows / parts / batch.shares};
}

}  // namespace axle

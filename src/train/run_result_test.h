// Reads what a training run left in its folder, to compare it with another run.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/restore.h"
#include "io/file.h"

namespace axle {

/// Returns the lines of metrics.jsonl. Fails the test for lines that are not JSON.
inline std::vector<nlohmann::json> records_of(const std::filesystem::path& dir) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(read_file(dir / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    out.push_back(nlohmann::json::parse(line, nullptr, false));
    if (out.back().is_object()) continue;
    ADD_FAILURE() << "not a record: " << line;
    out.pop_back();
  }
  return out;
}
/// Returns the records without the times, which differ in every run.
inline std::vector<nlohmann::json> metrics_of(const std::filesystem::path& dir) {
  std::vector<nlohmann::json> out = records_of(dir);
  for (nlohmann::json& record : out) {
    for (const char* time : {"tokens_per_sec", "mfu", "hfu", "wall_secs", "eval_secs"}) record.erase(time);
  }
  return out;
}

/// Returns the newest checkpoint of a run.
inline RestoredTensors state_of(const std::filesystem::path& dir) {
  auto restored = restore_tensors(dir / "checkpoints");
  if (restored) return *std::move(restored);
  ADD_FAILURE() << dir << " holds no checkpoint";
  return {};
}

/// Expects two runs to be equal bit for bit: parameters, optimizer, key, position in the data,
/// records.
inline void expect_same_run(const std::filesystem::path& actual,
                            const std::filesystem::path& expected) {
  RestoredTensors a = state_of(actual), b = state_of(expected);
  EXPECT_EQ(a.step, b.step);
  for (auto* metadata : {&a.metadata, &b.metadata}) metadata->erase("wall_secs");
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [path, value] : b.tensors) EXPECT_EQ(a.tensors.at(path), value) << path;
  EXPECT_EQ(metrics_of(actual), metrics_of(expected));
}

/// Expects the steps 1 to `last` in the metrics, each once and in order.
inline void expect_no_holes(const std::filesystem::path& dir, int64_t last) {
  std::vector<int64_t> steps, expected;
  for (const auto& record : metrics_of(dir)) {
    if (!record.contains("split")) steps.push_back(record.at("step"));
  }
  for (int64_t i = 1; i <= last; ++i) expected.push_back(i);
  EXPECT_EQ(steps, expected);
}

}  // namespace axle

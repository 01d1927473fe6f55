// What an input says while it encodes its files into a token file.
#pragma once

#include <string>

#include "base/clock.h"
#include "data/token_files/make_token_file.h"
#include "data/token_files/token_cache.h"

namespace axle {

/// Lines on stderr: one at the beginning, one every half minute, one at the end.
class EncodingReport {
 public:
  /// `what` is what the files hold: "text". `where` is the config path of the input.
  EncodingReport(std::string where, std::string what, const TokenCache& cache, int64_t num_bytes)
      : where_(std::move(where)), what_(std::move(what)), cache_(cache), num_bytes_(num_bytes) {}
  void add(const TokenBuildProgress& progress);
  void end() const;

 private:
  std::string where_, what_;
  const TokenCache& cache_;
  int64_t num_bytes_;
  Clock::time_point start_ = Clock::now();
  int num_reports_ = 0;
};

}  // namespace axle

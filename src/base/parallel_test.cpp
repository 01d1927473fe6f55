#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace axle {
namespace {

TEST(ParallelFor, takes_every_item_once) {
  for (const int64_t n : {0, 1, 7, 1000, 100003}) {
    std::vector<std::atomic<int>> taken(static_cast<size_t>(n));
    parallel_for(n, 10, [&](int64_t begin, int64_t end) {
      EXPECT_TRUE(end - begin >= 10 || end == n);
      for (int64_t i = begin; i < end; ++i) ++taken[i];
    });
    for (const auto& count : taken) EXPECT_EQ(count, 1);
  }
}

TEST(ParallelFor, small_loops_stay_on_the_calling_thread) {
  const auto self = std::this_thread::get_id();
  parallel_for(10, 10, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

TEST(ParallelFor, loops_inside_loops_run_to_the_end) {
  std::atomic<int64_t> sum = 0;
  parallel_for(64, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parallel_for(100, 1, [&](int64_t b, int64_t e) { sum += e - b; });
  });
  EXPECT_EQ(sum, 6400);
}

TEST(ParallelFor, loops_of_several_threads_run_to_the_end) {
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j)
        parallel_for(1000, 1, [&](int64_t b, int64_t e) { sum += e - b; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 4 * 200 * 1000);
}

TEST(ParallelFor, throws_what_a_piece_throws_and_works_again) {
  const auto fails = [](int64_t, int64_t) { throw std::runtime_error("piece"); };
  EXPECT_THROW(parallel_for(1000, 1, fails), std::runtime_error);
  EXPECT_THROW(parallel_for(1, 1, fails), std::runtime_error);
  std::atomic<int64_t> sum = 0;
  parallel_for(1000, 1, [&](int64_t b, int64_t e) { sum += e - b; });
  EXPECT_EQ(sum, 1000);
}

}  // namespace
}  // namespace axle

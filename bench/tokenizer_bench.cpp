// Times the encoding of a text by a tokenizer of any kind and prints one line of JSON.
// bench/tokenizer_rates.py runs it beside the libraries.
//
//   tokenizer_bench TOKENIZER TEXT [SECONDS]
//
// The text is encoded in documents of about 16 KiB, each core taking every so many of them; the
// rate is the median of the rounds.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"

namespace axle {
namespace {

using Clock = std::chrono::steady_clock;

double secs_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string_view> documents_of(std::string_view text) {
  constexpr size_t kBytes = 16 << 10;
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find('\n', std::min(kBytes, text.size() - 1));
    const size_t size = end == text.npos ? text.size() : end + 1;
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

int64_t encode_all(const Tokenizer& tokenizer, const std::vector<std::string_view>& documents) {
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> num_tokens = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < documents.size();)
      num_tokens += std::ssize(tokenizer.encode(documents[i]));
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return num_tokens;
}

int run(const std::string& file, const std::string& text_file, double secs) {
  const Clock::time_point load = Clock::now();
  const auto tokenizer = tokenizer_in_file(file, "TOKENIZER").build({}, {});
  const double load_secs = secs_since(load);
  const std::string text = read_file(text_file);
  const std::vector<std::string_view> documents = documents_of(text);
  const Clock::time_point begin = Clock::now();
  std::vector<double> rounds;
  int64_t num_tokens = 0;
  do {
    const Clock::time_point round = Clock::now();
    num_tokens = encode_all(*tokenizer, documents);
    rounds.push_back(secs_since(round));
  } while (secs_since(begin) < secs);
  std::ranges::nth_element(rounds, rounds.begin() + std::ssize(rounds) / 2);
  const double median = rounds[rounds.size() / 2];
  fmt::print("{{\"load_secs\": {:.3f}, \"num_tokens\": {}, \"mb_per_sec\": {:.2f}}}\n", load_secs,
             num_tokens, static_cast<double>(text.size()) / median / 1e6);
  return 0;
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: tokenizer_bench TOKENIZER TEXT [SECONDS]\n", stderr);
    return 2;
  }
  try {
    return axle::run(argv[1], argv[2], argc > 3 ? std::stod(argv[3]) : 3);
  } catch (const axle::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}

// Measures the data path of a run: the rate at which texts are encoded into a token file, the rate
// at which one thread makes batches of it, and the part of a step that waits for data while every
// core computes.
//
//   data_bench TOKENIZER TEXT [MB]
//
// The corpus is MB of text (default: 256): the paragraphs of TEXT, put together to documents of
// several lengths.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/process_start.h"
#include "data/prefetcher.h"
#include "data/random.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/token_input.h"
#include "inspect/token_file_report.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr double kTextPerCore = 4e6;  // bytes of text that a core of a model takes in a second
constexpr int64_t kBatchSize = 32, kSeqLen = 1024;

unsigned num_cores() { return std::max(std::thread::hardware_concurrency(), 1U); }

// Writes paragraphs of at least `mean` bytes, in a random order, until there are `bytes`.
void write_corpus(const std::string& path, const std::string& text, int64_t mean, int64_t bytes) {
  std::vector<std::string> paragraphs;
  std::string paragraph;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (end - at > 1) paragraph += text.substr(at, end - at);
    at = end;
    if (std::ssize(paragraph) < mean) continue;
    paragraphs.push_back(std::exchange(paragraph, {}) + "\n");
  }
  if (paragraphs.empty()) throw DataError("TEXT: expected more text");
  FileWriter file(path);
  for (uint64_t i = 0; std::ssize(file) < bytes; ++i)
    file.write(paragraphs[mix_seed(1, i) % paragraphs.size()]);
}

struct Corpus {
  std::string prefix;
  Child<Tokenizer> tokenizer;
  int64_t vocab_size = 0;

  std::unique_ptr<Input> open(Packing packing) const {
    TokenInput::Config cfg{.tokenizer = tokenizer,
                           .seq_len = kSeqLen,
                           .batch_size = kBatchSize,
                           .split = Split::kTrain,
                           .packing = packing};
    cfg.sources["text"].path = prefix;
    return Child<Input>(cfg).build({.vocab_size = vocab_size, .seed = 1}, {.path = "input"});
  }
};

// Seconds of a processor that this thread has had: what other programs take does not count.
double thread_secs() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Bytes of text in a second of its processor that one thread makes batches of.
double rate_of(Input& input, double secs) {
  for (int i = 0; i < 100; ++i) input.next();
  double bytes = 0;
  const double begin = thread_secs();
  while (thread_secs() - begin < secs) bytes += input.next()->num_target_bytes;
  return bytes / (thread_secs() - begin);
}

// Steps that keep all cores busy for as long as a model would that takes kTextPerCore on each.
struct Steps {
  double step_secs = 0, wait_share = 0, longest_wait_secs = 0;
};
Steps steps_of(std::unique_ptr<Input> input, double secs) {
  constexpr int64_t kReady = 2;  // as the trainer
  Prefetcher ahead(std::move(input), kReady);
  Steps out;
  double waited = 0, worked = 0;
  ahead.next();
  for (int64_t step = 0; waited + worked < secs; ++step) {
    const auto begin = Clock::now();
    const auto batch = ahead.next();
    const double wait = seconds_since(begin);
    const double work = batch->num_target_bytes / (kTextPerCore * static_cast<double>(num_cores()));
    const auto spin = [&, from = Clock::now()] {
      while (seconds_since(from) < work) {
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < num_cores(); ++i) threads.emplace_back(spin);
    spin();
    threads.clear();
    waited += wait;
    worked += work;
    out.longest_wait_secs = std::max(out.longest_wait_secs, wait);
    out.step_secs = work;
  }
  out.wait_share = waited / (waited + worked);
  return out;
}

void run(const std::string& tokenizer, const std::string& text_file, int64_t num_bytes) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / fmt::format("axle_data_bench_{}", ::getpid());
  std::filesystem::create_directories(dir);
  Corpus corpus{.tokenizer = tokenizer_named(tokenizer, "TOKENIZER")};
  corpus.vocab_size = corpus.tokenizer.build({}, {})->vocab_size();
  const std::string text = read_file(text_file);
  fmt::print("{} cores; rows of {} tokens, batches of {}\n", num_cores(), kSeqLen, kBatchSize);
  for (const int64_t mean : {300, 3000, 100'000}) {
    const std::string path = (dir / fmt::format("{}.txt", mean)).string();
    write_corpus(path, text, mean, num_bytes);
    corpus.prefix = (dir / fmt::format("{}", mean)).string();
    const auto begin = Clock::now();
    const TokenCard card = build_token_file({.sources = {path},
                                             .tokenizer = corpus.tokenizer,
                                             .prefix = corpus.prefix,
                                             .unit = DocumentUnit::kParagraph})
                               .card;
    fmt::print("documents of {} bytes: encoded {:.1f} MB/s a core\n",
               card.text_bytes / card.num_documents,
               static_cast<double>(card.text_bytes) / seconds_since(begin) / 1e6 / num_cores());
    for (const Packing packing : {Packing::kCut, Packing::kBestFit}) {
      const double rate = rate_of(*corpus.open(packing), 3);
      const Steps steps = steps_of(corpus.open(packing), 5);
      fmt::print(
          "  {:<9} one thread reads {:6.1f} MB/s of text; steps of {:.1f} ms wait {:.3f} % of the "
          "time, at most {:.2f} ms\n",
          to_text(packing), rate / 1e6, 1e3 * steps.step_secs, 100 * steps.wait_share,
          1e3 * steps.longest_wait_secs);
    }
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: data_bench TOKENIZER TEXT [MB]\n");
    return 2;
  }
  try {
    axle::run(argv[1], argv[2], (argc > 3 ? std::stoll(argv[3]) : 256) * 1'000'000);
  } catch (const axle::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}

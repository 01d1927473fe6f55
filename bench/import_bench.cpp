// Reads the weights of a model of another program, beside plain reading: one thread reads the same
// files into memory, in pieces. Prints medians of alternating rounds, and the ratio of the rates.
//
//   import_bench --model FOLDER [--rounds N] [--cold]
#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/process_start.h"
#include "bench_main.h"
#include "interop/foreign_model.h"
#include "io/file.h"
#include "io/file_reader.h"

namespace axle {
namespace {

struct Flags {
  std::string model;
  int rounds = 5;
  bool cold = false;
};

// What the system keeps of a file in memory goes.
void forget(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

double process_secs() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void read_plainly(const std::vector<std::filesystem::path>& files) {
  constexpr int64_t kPiece = int64_t{1} << 20;
  std::vector<std::unique_ptr<std::byte[]>> all;
  for (const auto& path : files) {
    const FileReader file(path);
    all.push_back(std::make_unique_for_overwrite<std::byte[]>(file.size()));
    for (int64_t at = 0; at < file.size(); at += kPiece)
      file.read_at(
          at, {all.back().get() + at, static_cast<size_t>(std::min(kPiece, file.size() - at))});
  }
}

void run(const Flags& flags) {
  std::vector<std::filesystem::path> files;
  double bytes = 0;
  for (const auto& path : list_directory(flags.model)) {
    if (path.extension() == ".safetensors") files.push_back(path);
  }
  if (files.empty()) files.push_back(flags.model);  // a GGUF file
  for (const auto& path : files) bytes += static_cast<double>(file_bytes(path));
  std::vector<double> plain, load, plain_cpu, load_cpu;
  const auto timed = [](std::vector<double>& secs, std::vector<double>& cpu, const auto& f) {
    const auto begin = Clock::now();
    const double cpu_begin = process_secs();
    f();
    secs.push_back(seconds_since(begin));
    cpu.push_back(process_secs() - cpu_begin);
  };
  const auto forget_all = [&] {
    if (flags.cold) std::ranges::for_each(files, forget);
  };
  for (int i = 0; i < flags.rounds; ++i) {
    forget_all();
    timed(plain, plain_cpu, [&] { read_plainly(files); });
    forget_all();
    timed(load, load_cpu, [&] { read_foreign_model(flags.model); });
  }
  const double ours = StepTimes(load).median, theirs = StepTimes(plain).median;
  fmt::print(
      "{:.2f} GB {}: read {:.3f} s ({:.3f} s of processors), plain {:.3f} s ({:.3f}); rate {:.2f} "
      "of "
      "plain reading\n",
      bytes / 1e9, flags.cold ? "from the disk" : "in the cache", ours, StepTimes(load_cpu).median,
      theirs, StepTimes(plain_cpu).median, theirs / ours);
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  axle::Flags flags;
  CLI::App app("weights of other programs beside plain reading", "import_bench");
  app.add_option("--model", flags.model, "a folder of Hugging Face, or a GGUF file")->required();
  app.add_option("--rounds", flags.rounds, "of both, alternating")->capture_default_str();
  app.add_flag("--cold", flags.cold, "each round reads from the disk");
  return axle::bench_main(app, argc, argv, [&] { axle::run(flags); });
}

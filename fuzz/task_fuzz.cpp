// Reads bytes as the YAML file of a task, and the bytes behind the first NUL as its documents; then
// asks the task's questions.
#include <filesystem>

#include "evaluate/task/task.h"
#include "fuzz_file.h"

namespace {

// A folder in memory for the files of one process.
const std::string& folder() {
  static const std::string path = [] {
    std::string made = "/dev/shm/axle_task_fuzz_XXXXXX";
    if (!::mkdtemp(made.data())) std::abort();
    return made;
  }();
  static const struct Remover {
    ~Remover() { std::filesystem::remove_all(path); }
  } remover;
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string task_file = folder() + "/task.yaml";
  std::FILE* const yaml = std::fopen(task_file.c_str(), "w");
  std::fwrite(data, 1, end, yaml);
  std::fclose(yaml);
  std::FILE* const documents = std::fopen((folder() + "/documents.jsonl").c_str(), "w");
  if (end < size) std::fwrite(data + end + 1, 1, size - end - 1, documents);
  std::fclose(documents);
  using axle::ExitCode;
  axle::expect_result_or_error(
      {ExitCode::kUser, ExitCode::kData, ExitCode::kStorage, ExitCode::kDoesNotFit}, [&] {
        axle::Task task(axle::read_task_config(task_file));
        task.questions(3);
      });
  return 0;
}

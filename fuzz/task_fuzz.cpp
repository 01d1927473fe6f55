// Reads bytes as the YAML file of a task, and the bytes behind the first NUL as its documents; then
// asks the task's questions.
#include "evaluate/task/task.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using axle::ExitCode;
  static const axle::FuzzFolder folder;
  folder.write({reinterpret_cast<const char*>(data), size}, {"task.yaml", "documents.jsonl"});
  axle::expect_result_or_error(
      {ExitCode::kUser, ExitCode::kData, ExitCode::kStorage, ExitCode::kDoesNotFit}, [&] {
        axle::Task task(axle::read_task_config(folder.path() / "task.yaml"));
        task.questions(3);
      });
  return 0;
}

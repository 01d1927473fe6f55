// Reads bytes as a file of conversations, plain or compressed, and makes batches of them.
#include "data/chat/chat_input.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axle::expect_result_or_error({axle::ExitCode::kData, axle::ExitCode::kDoesNotFit}, [&] {
    const axle::FuzzFile bytes(data, size);
    axle::ChatInput::Config config{
        .source = axle::ChatSource::Config{.path = bytes.path(), .on_error = axle::OnError::kSkip},
        .seq_len = 32,
        .batch_size = 2,
        .epochs = 1,
        .on_error = axle::OnError::kSkip};
    const auto input = axle::Child<axle::Input>(std::move(config))
                           .build({.vocab_size = 257, .seed = 1}, {.path = "input"});
    while (input->next()) {
    }
  });
  return 0;
}

// Reads bytes as a file of conversations and as one of pairs of answers, plain or compressed, and
// makes batches of them.
#include "data/chat/chat_input.h"
#include "fuzz_file.h"

namespace axle {

template <class Config>
void read_chats(const FuzzFile& file) {
  expect_result_or_error({ExitCode::kData, ExitCode::kDoesNotFit}, [&] {
    Config config{.source = ChatSource::Config{.path = file.path(), .on_error = OnError::kSkip},
                  .seq_len = 32,
                  .batch_size = 2,
                  .epochs = 1,
                  .on_error = OnError::kSkip};
    const auto input =
        Child<Input>(std::move(config)).build({.vocab_size = 257, .seed = 1}, {.path = "input"});
    while (input->next()) {
    }
  });
}

}  // namespace axle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const axle::FuzzFile bytes(data, size);
  axle::read_chats<axle::ChatInput::Config>(bytes);
  axle::read_chats<axle::PreferenceInput::Config>(bytes);
  return 0;
}

// Reads bytes, plain or compressed, as the documents of a corpus: the first byte says how.
#include "data/token_files/corpus_reader.h"
#include "fuzz_file.h"
#include "io/file_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const axle::FuzzFile bytes(data + 1, size - 1);
  const int how = *data % 6;
  axle::CorpusFormat format;
  if (how < 3) format.unit = static_cast<axle::DocumentUnit>(how);
  if (how == 3) format.part_bytes = 16;
  const bool is_json = how == 5, is_in_blocks = how == 4;
  axle::expect_result_or_error({axle::ExitCode::kData, axle::ExitCode::kStorage}, [&] {
    axle::CorpusReader reader("bytes", axle::open_stream(bytes.path()), is_json, format);
    const auto next = [&] { return is_in_blocks ? reader.next_block(8) : reader.next(); };
    while (auto document = next())
      axle::corpus_text("bytes", *std::move(document), is_json, format.field);
  });
  return 0;
}

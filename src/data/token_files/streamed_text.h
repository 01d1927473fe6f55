// Text that is too large for the memory, or not plain text: its tokens lie in a token file that is
// made once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text_input.h"
#include "data/token_files/build_token_file.h"
#include "data/token_files/token_input.h"

namespace axle {

/// True if an input reads its text from a token file: a CorpusSource, or plain text files that are
/// larger than its memory_bytes, without prompts and streams of positions. False too for plain text
/// that is not there.
bool is_streamed(const TextInput::Config& cfg);

/// The largest document of plain text in a token file that a run makes.
inline constexpr int64_t kTextPartBytes = int64_t{256} << 10;

/// Makes the token file of a TextSource or a CorpusSource, or finds it (TokenCache). Throws as they
/// do; StorageError if the cache folder can't be written.
MadeTokens tokens_of_text(const Child<Source>& source, const Child<Tokenizer>& tokenizer,
                          const MadeFor& whom);

/// The rows of a TextInput of much text or of a CorpusSource: the rows of a TokenInput, whose file
/// build_token_file makes in user_cache_folder()/tokens at the first start. Later starts find it
/// there, as long as no file of the text has changed. A process that ends early has done a part of
/// it; one that wants the same text waits for the other.
///
/// A document of more than kTextPartBytes is several ones there, cut at line ends. Only the first
/// has the token that begins a document, only the last the one that ends it.
///
/// Memory: that of build_token_file, then that of TokenInput.
class StreamedText final : public Input {
 public:
  /// Throws as TextInput does; StorageError if the cache folder can't be written.
  StreamedText(const TextInput::Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return rows_->element_spec(); }
  std::optional<Batch> next() override { return rows_->next(); }
  std::string state() const override { return rows_->state(); }
  void restore(std::string_view state) override { rows_->restore(state); }
  InputFacts facts() const override { return facts_; }
  /// Documents count within their file.
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override {
    return rows_->origins_of_batch(batch);
  }

 private:
  std::unique_ptr<TokenInput> rows_;
  InputFacts facts_;
};

}  // namespace axle

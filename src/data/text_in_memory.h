// Rows of text whose tokens are all in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/packed_batches.h"
#include "data/text_input.h"

namespace axle {

/// The rows of a TextInput of little text.
class TextInMemory final : public Input {
 public:
  /// Throws as TextInput does.
  TextInMemory(const TextInput::Config& cfg, const Dims& dims, const Scope& scope);

  Tree<Type> element_spec() const override { return batches_->element_spec(); }
  std::optional<Batch> next() override { return batches_->next(); }
  std::string state() const override { return batches_->state(); }
  void restore(std::string_view state) override { batches_->restore(state); }
  InputFacts facts() const override { return facts_; }
  /// Reads the text once more.
  std::vector<RowOrigin> origins_of_batch(int64_t batch) override;

 private:
  // Reads the text and returns its tokens; sets text_bytes_ and facts_.
  TokenizedDocuments read(const TextInput::Config& cfg, const Tokenizer& tokenizer,
                          const Scope& scope);
  // Returns the ids of the document's text.
  std::vector<int32_t> add(TokenizedDocuments& documents, const Document& document,
                           const Tokenizer& tokenizer, const TextInput::Config& cfg);

  std::function<std::vector<std::string>()> read_wheres_;  // the place of each document
  std::vector<double> text_bytes_;                         // average bytes of text per token id
  InputFacts facts_;
  int64_t num_learned_ = 0;  // tokens of text behind the prompts
  int64_t num_long_ = 0;     // documents of more than a row that are not split
  std::unique_ptr<PackedBatches> batches_;
};

}  // namespace axle

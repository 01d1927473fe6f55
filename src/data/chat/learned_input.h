// What the inputs of conversations have in common: batches of documents that are in memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/learned_documents.h"

namespace axle {

class LearnedInput : public Input {
 public:
  Tree<Type> element_spec() const final { return batches_->element_spec(); }
  std::optional<Batch> next() final { return batches_->next(); }
  std::string state() const final { return batches_->state(); }
  void restore(std::string_view state) final { batches_->restore(state); }
  InputFacts facts() const final { return facts_; }
  std::vector<RowOrigin> origins_of_batch(int64_t batch) final {
    return batches_->origins_of_batch(batch, wheres_);
  }

 protected:
  /// Throws ConfigError for a source of texts. `path` is that of the input.
  static void check_source(const Child<Source>& source, const std::string& path);
  /// Moves the documents into batches of these options. `facts` are those of the documents. Throws
  /// DataError if there are none: `what` says what was expected, up to the number of positions.
  /// `path` is that of the input.
  void take(LearnedDocuments& learned, const InputFacts& facts,
            const PackedBatches::Options& options, std::string_view what, const std::string& path);

 private:
  InputFacts facts_;
  std::vector<std::string> wheres_;  // the place of each document
  std::unique_ptr<PackedBatches> batches_;
};

}  // namespace axle
